/** Charts as SVG: lines over a number, and bars. Each function gives one that draws the chart in a theme. */

const WIDTH = 640;
const HEIGHT = 360;
const LEFT = 64;
const RIGHT = 136;
const TOP = 60;
const BOTTOM = 64;
const BAR = 28;
const GAP = 16;
const NAME_WIDTH = 120;

/** The first color is for the series that is emphasized. People who see fewer colors can tell them apart, too. */
const THEMES = {
  light: {
    paper: '#ffffff',
    ink: '#1f2328',
    faint: '#59636e',
    grid: '#d1d9e0',
    colors: ['#d55e00', '#0b6fa4', '#14815f', '#8455b5', '#6e6e6e'],
  },
  dark: {
    paper: '#0d1117',
    ink: '#f0f6fc',
    faint: '#9198a1',
    grid: '#3d444d',
    colors: ['#ff8c42', '#56b4e9', '#3ec79a', '#c39bea', '#a8a8a8'],
  },
};

/** A chart of `series` [{ name, color, points: [{ x, y }] }]: y over x, from 0. `color`: an index of the theme's. */
export function lines({ title, x, y, series, note }) {
  const points = series.flatMap((each) => each.points);
  const xs = [...new Set(points.map((point) => point.x))];
  const scale = scaleOf(Math.max(...points.map((point) => point.y)));
  const across = (value) => LEFT + ((value - xs[0]) / (xs.at(-1) - xs[0])) * (WIDTH - LEFT - RIGHT);
  const up = (value) => HEIGHT - BOTTOM - (value / scale.top) * (HEIGHT - TOP - BOTTOM);
  const labels = apart(series.map(({ points: own }) => up(own.at(-1).y)));
  return (theme) => {
    const { ink, faint, grid, colors } = THEMES[theme];
    const parts = [];
    for (const value of scale.ticks) {
      parts.push(rule(LEFT, up(value), WIDTH - RIGHT, up(value), grid));
      parts.push(text(LEFT - 8, up(value) + 4, String(value), faint, 'end'));
    }
    for (const value of xs) parts.push(text(across(value), HEIGHT - BOTTOM + 20, String(value), faint, 'middle'));
    parts.push(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 38, x, ink, 'middle'));
    parts.push(text(LEFT, TOP - 10, y, ink, 'start'));
    series.forEach(({ name, color, points: own }, i) => {
      const path = own.map((point) => `${round(across(point.x))},${round(up(point.y))}`).join(' ');
      parts.push(`<polyline points="${path}" fill="none" stroke="${colors[color]}" stroke-width="2.5"/>`);
      for (const point of own) {
        parts.push(
          `<circle cx="${round(across(point.x))}" cy="${round(up(point.y))}" r="3.5" fill="${colors[color]}"/>`,
        );
      }
      parts.push(text(WIDTH - RIGHT + 12, labels[i] + 4, name, colors[color], 'start'));
    });
    return page(theme, HEIGHT, title, note, parts);
  };
}

/** A chart of `rows` [{ name, color, value }]: one bar each, with its value. */
export function bars({ title, x, rows, note }) {
  const height = TOP + rows.length * (BAR + GAP) + BOTTOM;
  const most = Math.max(...rows.map(({ value }) => value));
  return (theme) => {
    const { ink, faint, colors } = THEMES[theme];
    const parts = rows.flatMap(({ name, color, value }, i) => {
      const at = TOP + i * (BAR + GAP);
      const width = Math.max(1, (value / most) * (WIDTH - NAME_WIDTH - RIGHT));
      return [
        text(NAME_WIDTH - 8, at + BAR / 2 + 4, name, ink, 'end'),
        `<rect x="${NAME_WIDTH}" y="${at}" width="${round(width)}" height="${BAR}" rx="2" fill="${colors[color]}"/>`,
        text(NAME_WIDTH + width + 8, at + BAR / 2 + 4, short(value), ink, 'start'),
      ];
    });
    parts.push(text(NAME_WIDTH, height - BOTTOM + 16, x, faint, 'start'));
    return page(theme, height, title, note, parts);
  };
}

function page(theme, height, title, note, parts) {
  const { paper, ink, faint } = THEMES[theme];
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`,
    ` font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="${escaped(title)}">`,
    `<rect width="${WIDTH}" height="${height}" fill="${paper}"/>`,
    `<text x="16" y="24" font-size="16" font-weight="600" fill="${ink}">${escaped(title)}</text>`,
    ...parts,
    `<text x="16" y="${height - 10}" font-size="11" fill="${faint}">${escaped(note)}</text>`,
    '</svg>',
  ].join('\n')}\n`;
}

/** Four to eight ticks of 1, 2 or 5 times a power of ten, up to at least the greatest value. */
function scaleOf(greatest) {
  const power = 10 ** Math.floor(Math.log10(greatest / 4));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => greatest / candidate <= 8);
  const count = Math.ceil(greatest / step);
  const ticks = Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(6)));
  return { ticks, top: count * step };
}

/** The heights of labels, moved so that none covers another. */
function apart(heights) {
  const LINE = 16;
  const order = heights.map((height, i) => ({ height, i })).sort((a, b) => a.height - b.height);
  for (let i = 1; i < order.length; i++) order[i].height = Math.max(order[i].height, order[i - 1].height + LINE);
  const moved = [];
  for (const { height, i } of order) moved[i] = height;
  return moved;
}

const escaped = (words) => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
const round = (value) => Number(value.toFixed(1));
const short = (value) => (value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US'));
const rule = (x1, y1, x2, y2, color) =>
  `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${color}"/>`;
const text = (x, y, words, color, anchor) =>
  `<text x="${round(x)}" y="${round(y)}" fill="${color}" text-anchor="${anchor}">${escaped(words)}</text>`;
