(function () {
  "use strict";
  var folds = document.querySelectorAll("details.code");
  var button = document.getElementById("unfold");
  function unfold() { folds.forEach(function (fold) { fold.open = true; }); button.hidden = true; }
  if (folds.length) { button.hidden = false; }
  button.addEventListener("click", unfold);
  window.addEventListener("beforeprint", unfold);
}());
