// What mdBook leaves to the mouse.

// What scrolls by itself can be reached by keyboard, as long as it scrolls.
const reachable = () => {
  for (const part of document.querySelectorAll(".content .table-wrapper, .content pre, .content pre > code")) {
    if (part.scrollWidth > part.clientWidth) {
      part.tabIndex = 0;
    } else {
      part.removeAttribute("tabindex");
    }
  }
};

// Its width changes with the window's, and while the contents slide in beside it.
const main = document.querySelector(".content main");
if (main !== null) {
  new ResizeObserver(reachable).observe(main);
}

// The label that opens the contents says its state as a button does, and is one only by its role.
document.getElementById("mdbook-sidebar-toggle")?.setAttribute("role", "button");
