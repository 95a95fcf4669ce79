"""Why a submission gets its decision: an evaluator of its own over the tree."""
