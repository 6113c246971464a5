// Dark or light? As the system says, unless somebody chose. Runs before the first paint, so that
// nothing flashes.

(() => {
  const KEY = 'shiftwork-theme';
  const CHOICES = ['auto', 'light', 'dark'];
  const root = document.documentElement;

  function chosen() {
    // Where storage is forbidden the choice holds for this visit.
    try {
      const theme = localStorage.getItem(KEY);
      return CHOICES.includes(theme) ? theme : 'auto';
    } catch {
      return root.dataset.theme ?? 'auto';
    }
  }

  function choose(theme) {
    root.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // It holds for this visit.
    }
    dispatchEvent(new Event('themechange'));
  }

  root.dataset.theme = chosen();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => dispatchEvent(new Event('themechange')));
  addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    const label = () => { button.textContent = `Theme: ${root.dataset.theme}`; };
    label();
    button.addEventListener('click', () => {
      choose(CHOICES[(CHOICES.indexOf(root.dataset.theme) + 1) % CHOICES.length]);
      label();
    });
  });
})();
