/** Adds the style sheet for paper, which is no part of the one for screens, when this module is fetched first. */
import text from "./print.css?inline";

const sheet = new CSSStyleSheet();
sheet.replaceSync(text);
document.adoptedStyleSheets.push(sheet);
