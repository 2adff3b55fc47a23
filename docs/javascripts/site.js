// Tables and code that scroll can be reached by keyboard. The theme removes the attribute when the window changes its size.
window.addEventListener("load", () => {
  const reach = (e) => { if (e.tabIndex !== 0) e.tabIndex = 0; };
  const kept = new WeakSet();
  const keep = (e) => {
    if (kept.has(e)) return;
    kept.add(e);
    reach(e);
    new MutationObserver(() => reach(e)).observe(e, { attributeFilter: ["tabindex"] });
  };
  const all = () => document.querySelectorAll(".md-typeset__scrollwrap, pre > code").forEach(keep);
  all();
  setTimeout(all, 200);
});
