"use strict";
// A line goes over each meter while its sound plays; a click on the meter plays from there. The page reads without it.
for (const session of document.querySelectorAll(".session")) {
  const audio = session.querySelector("audio");
  if (!audio) continue;
  const meter = session.querySelector(".meter"), picture = meter.querySelector("svg");
  const cursor = meter.querySelector(".cursor");
  const number = (name) => Number(session.dataset[name]);
  const [begin, end, left, right] = ["begin", "end", "left", "right"].map(number);
  const begins = Number(audio.dataset.begins);

  const show = () => {
    const share = (audio.currentTime + begins - begin) / (end - begin);
    cursor.hidden = share < 0 || share > 1;
    cursor.style.left = `${(left + share * (right - left)) * picture.clientWidth}px`;
    if (!audio.paused) requestAnimationFrame(show);
  };
  audio.addEventListener("play", () => {
    for (const other of document.querySelectorAll("audio")) if (other !== audio) other.pause();
    show();
  });
  audio.addEventListener("seeked", show);
  picture.addEventListener("click", (event) => {
    const box = picture.getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width - left) / (right - left);
    audio.currentTime = Math.min(Math.max(begin + share * (end - begin) - begins, 0), audio.duration || 0);
    audio.play();
  });
}
