"""The checks of `rebuno verify`: each promise of the kernel, kept or broken, on a bundle and a copy of a store."""
