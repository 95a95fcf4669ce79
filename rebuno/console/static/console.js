// Keeps pages up to date. Everything can be read, and every form be sent, without it.
"use strict";
(() => {
  const say = (text) => {
    const place = document.getElementById("said");
    if (place) place.textContent = text;
  };

  const part = async (url) => {
    const answer = await fetch(url, { headers: { "HX-Request": "true" }, credentials: "same-origin" });
    if (!answer.ok) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html").body;
  };

  // New questions come in, answered ones go; a card that somebody writes on stays as it is.
  const merge = async (list) => {
    const fresh = await part(list.dataset.merge);
    if (!fresh) return;
    const coming = new Map([...fresh.querySelectorAll("article[data-id]")].map((card) => [card.dataset.id, card]));
    const here = new Map([...list.querySelectorAll("article[data-id]")].map((card) => [card.dataset.id, card]));
    let gone = 0;
    let added = 0;
    for (const [id, card] of here) {
      if (coming.has(id)) continue;
      gone += 1;
      const busy = card.contains(document.activeElement) || [...card.querySelectorAll("input:not([type=hidden]):not([type=checkbox])")].some((field) => field.value);
      if (busy) {
        card.classList.add("gone");
        for (const one of card.querySelectorAll("button")) one.disabled = true;
        if (!card.querySelector(".over")) {
          const note = document.createElement("p");
          note.className = "notice warn over";
          note.textContent = "This question has been answered, or is over.";
          card.prepend(note);
        }
      } else {
        card.remove();
      }
    }
    let last = null;
    for (const [id, card] of coming) {
      const known = here.get(id);
      if (known && known.dataset.votes === card.dataset.votes) {
        last = known;
        continue;
      }
      const made = document.importNode(card, true);
      if (known) known.replaceWith(made);
      else {
        added += 1;
        if (last) last.after(made);
        else list.prepend(made);
      }
      if (window.htmx) window.htmx.process(made);
      last = made;
    }
    list.querySelectorAll(".empty").forEach((one) => one.remove());
    const empty = fresh.querySelector(".empty");
    if (empty && !list.querySelector("article")) list.append(document.importNode(empty, true));
    const count = document.getElementById("count");
    if (count) count.textContent = String(coming.size);
    if (added) say(added === 1 ? "A new question." : added + " new questions.");
    else if (gone) say(gone === 1 ? "A question has been answered." : gone + " questions have been answered.");
  };

  const live = (place) => {
    let first = true;
    const source = new EventSource(place.dataset.live);
    source.onmessage = () => {
      // The page has just been made.
      if (first) first = false;
      else if (place.dataset.merge) merge(place);
      else if (window.htmx) window.htmx.trigger(place, "changed");
    };
    source.onerror = () => {
      first = false;
    };
    addEventListener("pagehide", () => source.close());
  };

  // A step opens beside the timeline; without this script its link loads the page with the step.
  const choose = async (list, link, seq) => {
    const place = document.getElementById("detail");
    const fresh = await part(list.dataset.steps + seq);
    if (!place || !fresh) {
      location.assign(link.href);
      return;
    }
    place.replaceChildren(...[...fresh.childNodes].map((node) => document.importNode(node, true)));
    if (window.htmx) window.htmx.process(place);
    for (const one of list.querySelectorAll("[aria-current]")) one.removeAttribute("aria-current");
    link.closest("li").setAttribute("aria-current", "true");
    history.replaceState(null, "", "?step=" + seq);
    const head = document.getElementById("chosen");
    if (head) head.focus();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest ? event.target.closest("[data-steps] a[id^=s]") : null;
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    choose(link.closest("[data-steps]"), link, link.id.slice(1));
  });

  const start = () => {
    for (const place of document.querySelectorAll("[data-live]")) live(place);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
