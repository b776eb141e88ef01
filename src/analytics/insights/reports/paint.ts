import { setImmediate } from 'node:timers/promises';
import { plotOf, PLOT_HEIGHT, PLOT_WIDTH, type Place, type Plotted } from '../chart.ts';
import { pngOf } from './png.ts';

/** Pixels of a picture; it is shown at half the size, so that it is sharp on all screens. */
const WIDTH = 1_120;
const HEIGHT = 320;
export const SHOWN_WIDTH = WIDTH / 2;
export const SHOWN_HEIGHT = HEIGHT / 2;

export type Rgb = readonly [number, number, number];

/** The colours of series on light ground, as in console/src/ui/chart.module.css and tokens.css. */
export const SERIES: readonly Rgb[] = [
  [0x1b, 0x5c, 0xb8],
  [0xb3, 0x54, 0x1e],
  [0x17, 0x66, 0x3a],
  [0x7a, 0x3e, 0xa8],
  [0x8a, 0x61, 0x00],
  [0xa1, 0x24, 0x6b],
];
const RULE: Rgb = [0xd5, 0xd9, 0xe0];
const ZERO_RULE: Rgb = [0x76, 0x7d, 0x89];
/** The share of its colour that a compared figure has. */
const PALE = 0.45;
/** Steps of a smooth edge: with few, pictures are small. */
const STEPS = 8;

/** Strokes in pixels: width, and the lengths of dashes and gaps. */
const THIN = { width: 2 };
const STYLES = {
  line: { width: 4 },
  open: { width: 4, dash: [2, 10] },
  before: { width: 3 },
} as const;
const OPEN_BAR = { width: 2, dash: [8, 6] } as const;

/** The colour of a series. */
export function colourOf(series: number): Rgb {
  return SERIES[series % SERIES.length] ?? ZERO_RULE;
}

/** The picture of a chart as PNG: the shapes that the console draws. */
export async function pictureOf(chart: Plotted): Promise<Buffer> {
  const plot = plotOf(chart);
  const canvas = new Canvas();
  for (const value of plot.ticks) {
    const at = plot.y(value);
    const ends: Place[] = [
      [0, at],
      [PLOT_WIDTH, at],
    ];
    canvas.stroke([ends], value === 0 ? ZERO_RULE : RULE, THIN);
  }
  for (const { series, is_complete, x, y, width, height } of plot.bars) {
    if (is_complete) {
      canvas.paint([x, y], [x + width, y + height], colourOf(series));
      continue;
    }
    const corners: Place[] = [
      [x, y],
      [x + width, y],
      [x + width, y + height],
      [x, y + height],
      [x, y],
    ];
    canvas.stroke([corners], colourOf(series), OPEN_BAR);
  }
  for (const { series, style, lines } of plot.lines) {
    // Thousands of figures take milliseconds.
    await setImmediate();
    canvas.stroke(lines, colourOf(series), STYLES[style], style === 'before' ? PALE : 1);
  }
  return pngOf(WIDTH, HEIGHT, canvas.pixels);
}

interface Stroke {
  width: number;
  dash?: readonly [on: number, off: number];
}

/** Pixels, onto which shapes in units of a plot are painted with smooth edges. */
class Canvas {
  /** Red, green and blue of each pixel, line by line; all are white first. */
  readonly pixels = new Uint8Array(WIDTH * HEIGHT * 3).fill(0xff);
  /** How much of each pixel a stroke covers, in steps. */
  readonly #covered = new Uint8Array(WIDTH * HEIGHT);

  /** A rectangle between two corners. */
  paint(from: Place, to: Place, colour: Rgb): void {
    const [left, top] = pixelOf(from);
    const [right, bottom] = pixelOf(to);
    for (let y = Math.max(0, Math.floor(top)); y < Math.min(HEIGHT, Math.ceil(bottom)); y++) {
      const high = Math.min(y + 1, bottom) - Math.max(y, top);
      for (let x = Math.max(0, Math.floor(left)); x < Math.min(WIDTH, Math.ceil(right)); x++)
        this.#blend(y * WIDTH + x, colour, stepsOf(high * (Math.min(x + 1, right) - Math.max(x, left))));
    }
  }

  /** Lines with round ends, each pixel as dark as the nearest of them makes it. */
  stroke(lines: readonly (readonly Place[])[], colour: Rgb, { width, dash }: Stroke, share = 1): void {
    this.#covered.fill(0);
    for (const line of lines)
      for (const [from, to] of piecesOf(line.map(pixelOf), dash)) cover(this.#covered, from, to, width / 2);
    for (const [at, steps] of this.#covered.entries()) if (steps > 0) this.#blend(at, colour, steps, share);
  }

  #blend(pixel: number, colour: Rgb, steps: number, share = 1): void {
    const part = (steps / STEPS) * share;
    for (let i = 0; i < 3; i++) {
      const before = this.pixels[pixel * 3 + i] ?? 0;
      this.pixels[pixel * 3 + i] = Math.round(before + ((colour[i] ?? 0) - before) * part);
    }
  }
}

/** A part of a pixel in steps. */
function stepsOf(part: number): number {
  return Math.round(Math.min(1, Math.max(0, part)) * STEPS);
}

/** A place of the plot in pixels; lines at its edges stay visible. */
function pixelOf([x, y]: Place): Place {
  const margin = STYLES.line.width / 2;
  return [(x / PLOT_WIDTH) * WIDTH, margin + (y / PLOT_HEIGHT) * (HEIGHT - 2 * margin)];
}

type Piece = readonly [Place, Place];

/** The pieces of a line that are drawn; dashes go on around its corners. */
function piecesOf(line: readonly Place[], dash: Stroke['dash']): Piece[] {
  const whole = line.slice(1).map((to, i): Piece => [line[i] ?? to, to]);
  if (dash === undefined) return whole;
  const [on, off] = dash;
  const pieces: Piece[] = [];
  let passed = 0;
  for (const [from, to] of whole) {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const at = (distance: number): Place => {
      const share = length === 0 ? 0 : distance / length;
      return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
    };
    const first = Math.floor(passed / (on + off)) * (on + off) - passed;
    for (let begin = first; begin <= length; begin += on + off)
      if (begin + on >= 0) pieces.push([at(Math.max(0, begin)), at(Math.min(length, begin + on))]);
    passed += length;
  }
  return pieces;
}

/** Notes of each pixel near a piece how much of it is covered, in steps, if no other covers more. */
function cover(covered: Uint8Array, [ax, ay]: Place, [bx, by]: Place, radius: number): void {
  const [dx, dy] = [bx - ax, by - ay];
  const square = dx * dx + dy * dy;
  const reach = radius + 1;
  const [inner, outer] = [Math.max(0, radius - 0.5) ** 2, (radius + 0.5) ** 2];
  const [left, right] = [Math.floor(Math.min(ax, bx) - reach), Math.ceil(Math.max(ax, bx) + reach)];
  for (let x = Math.max(0, left); x <= Math.min(WIDTH - 1, right); x++) {
    // Of a steep line only the part near this column.
    const parts = dx === 0 ? [0, 1] : [(x - reach - ax) / dx, (x + 1 + reach - ax) / dx];
    const ends = parts.map((part) => ay + dy * Math.min(1, Math.max(0, part)));
    const bottom = Math.min(HEIGHT - 1, Math.ceil(Math.max(...ends) + reach));
    for (let y = Math.max(0, Math.floor(Math.min(...ends) - reach)); y <= bottom; y++) {
      const [px, py] = [x + 0.5 - ax, y + 0.5 - ay];
      const along = square === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / square));
      const [ox, oy] = [px - along * dx, py - along * dy];
      const apart = ox * ox + oy * oy;
      if (apart >= outer) continue;
      const steps = apart <= inner ? STEPS : stepsOf(radius + 0.5 - Math.sqrt(apart));
      const at = y * WIDTH + x;
      if (steps > (covered[at] ?? 0)) covered[at] = steps;
    }
  }
}
