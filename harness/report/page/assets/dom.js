// Elements, and numbers as people read them. Text goes into the page as text nodes only: nothing here, or anywhere in
// these scripts, makes markup from a string, and the page's policy forbids it.

const byId = (id) => document.getElementById(id);

// An element with attributes (null and false leave one out) and children: elements, texts, or nothing.
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const seen = (text) => el("span", { "aria-hidden": "true" }, text);
const spoken = (text) => el("span", { class: "spoken" }, text);

const NOTHING = "-";

// A speed-up to three significant digits, never in powers of ten below a hundred thousand.
function ratio(value) {
  if (!isNumber(value)) return NOTHING;
  if (value >= 100) return `${value.toFixed(0)}x`;
  if (value >= 10) return `${value.toFixed(1)}x`;
  return value >= 0.1 ? `${value.toFixed(2)}x` : `${Number(value.toPrecision(2))}x`;
}

const interval = (low, high) => `[${ratio(low).slice(0, -1)}, ${ratio(high).slice(0, -1)}]`;

// Four significant digits, trailing zeros too: they were measured.
function milliseconds(value) {
  if (!isNumber(value)) return NOTHING;
  return `${value >= 1e-4 && value < 1e4 ? value.toPrecision(4) : significant(value, 4)} ms`;
}

function significant(value, digits) {
  if (!isNumber(value)) return String(value ?? NOTHING);
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e7)) return value.toExponential(digits - 1);
  return Number.isInteger(value) ? value.toLocaleString("en") : String(Number(value.toPrecision(digits)));
}

// A file for the reader to keep. Made here: nothing is asked of any network.
function download(name, text, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Copying is forbidden to some pages that were opened as files: then the text is selected for the reader to copy.
async function copyText(text, button, code) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

const csvCell = (value) => {
  const text = String(value ?? "");
  const safe = /^[=+\-@\t\r]/.test(text) && !isNumber(value) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

const percent = (value) => (isNumber(value) ? `${significant(100 * value, 3)}%` : NOTHING);
const rate = (value) => (isNumber(value) ? value.toFixed(2) : NOTHING);
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
