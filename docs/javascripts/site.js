// Tables and code that scroll can be reached by keyboard.
const reach = () => document.querySelectorAll(".md-typeset__scrollwrap, pre > code").forEach((e) => { e.tabIndex = 0; });
window.addEventListener("load", () => { reach(); setTimeout(reach, 200); });
