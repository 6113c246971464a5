// How are elements made? Always from text that stays text: nothing here reads markup.

const SVG = 'http://www.w3.org/2000/svg';

/** `el('a.name', { href, onclick }, 'text', child)`: attributes that are null or false are left out. */
export function el(what, attributes = {}, ...children) {
  const [name, ...classes] = what.split('.');
  return fill(document.createElement(name), classes, attributes, children);
}

/** The same for what is drawn. */
export function svg(what, attributes = {}, ...children) {
  const [name, ...classes] = what.split('.');
  return fill(document.createElementNS(SVG, name), classes, attributes, children);
}

function fill(element, classes, attributes, children) {
  if (classes.length) element.setAttribute('class', classes.join(' '));
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  // `append` makes text nodes of strings.
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** Sets text only where it differs: what has not changed is not painted, nor read aloud. */
export function say(element, text) {
  const string = `${text}`;
  if (element.textContent !== string) element.textContent = string;
}

/** A hash that shows its beginning and its end where there is little room, and is copied whole. */
export function hash(text, href) {
  const whole = `${text}`;
  const parts = [el('span.start', {}, whole.slice(0, -6)), el('span.end', {}, whole.slice(-6))];
  return href ? el('a.hash', { href, title: whole }, ...parts) : el('span.hash', { title: whole }, ...parts);
}

/** A box with a heading; what belongs beside the heading comes in `tools`. */
export function panel(name, title, tools = [], ...children) {
  const id = `${name}-title`;
  return el(`section.panel.${name}`, { 'aria-labelledby': id },
    el('div.head', {}, el('h2', { id }, title), ...tools),
    ...children);
}

/** Names with their values, as a description list. */
export function facts(pairs) {
  return el('dl.facts', {}, ...pairs.filter(Boolean).map(([name, ...value]) =>
    el('div', {}, el('dt', {}, name), el('dd', {}, ...value))));
}
