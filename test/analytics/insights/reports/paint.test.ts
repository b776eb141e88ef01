import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, inflateSync } from 'node:zlib';
import { assert, array, constantFrom, double, integer, oneof, property, record, constant } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PLOT_HEIGHT, PLOT_WIDTH, plotOf, type Plotted } from '../../../../src/analytics/insights/chart.ts';
import { colourOf, pictureOf, SERIES } from '../../../../src/analytics/insights/reports/paint.ts';
import { packageRoot } from '../../../../src/package-root.ts';
import { runs } from '../../../engines/effort.ts';

/** Reads a picture by the rules of PNG, with the filters that are used. */
function decoded(png: Buffer) {
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    const type = png.subarray(at + 4, at + 8).toString('latin1');
    const data = png.subarray(at + 8, at + 8 + length);
    expect(png.readUInt32BE(at + 8 + length)).toBe(crc32(png.subarray(at + 4, at + 8 + length)));
    chunks.push({ type, data });
    at += 12 + length;
  }
  expect(chunks.map(({ type }) => type)).toEqual(['IHDR', 'IDAT', 'IEND']);
  const [head, body] = chunks.map(({ data }) => data);
  const [width, height] = [head?.readUInt32BE(0) ?? 0, head?.readUInt32BE(4) ?? 0];
  const lines = inflateSync(body ?? Buffer.alloc(0));
  expect(lines.length).toBe((width * 3 + 1) * height);
  const pixels = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    expect(lines[y * (width * 3 + 1)]).toBe(0);
    for (let i = 0; i < width * 3; i++) pixels[y * width * 3 + i] = lines[y * (width * 3 + 1) + 1 + i] ?? 0;
  }
  /** The colour at a place of the plot. */
  const at = (x: number, y: number): number[] => {
    const column = Math.min(width - 1, Math.floor((x / PLOT_WIDTH) * width));
    // Lines at the edges are whole.
    const line = Math.floor(2 + (y / PLOT_HEIGHT) * (height - 4));
    return [...pixels.subarray((line * width + column) * 3, (line * width + column) * 3 + 3)];
  };
  return { width, height, at };
}

const values = (...of: (number | null)[]) => of.map((value) => (value === null ? null : { value }));
const points = (count: number) => Array.from({ length: count }, () => ({ is_complete: true }));
const WHITE = [255, 255, 255];

describe('a picture', () => {
  it('has bars in the colours of their series, from 0 to their value', async () => {
    const chart: Plotted = {
      as: 'bars',
      points: points(4),
      series: [{ figures: values(100, 50, 0, null) }, { figures: values(25, -100, 10, 10) }],
    };
    const picture = decoded(await pictureOf(chart));
    const plot = plotOf(chart);
    for (const { series, x, y, width, height } of plot.bars) {
      expect(picture.at(x + width / 2, y + height / 2)).toEqual([...colourOf(series)]);
      const beyond = y < plot.y(0) ? y - 4 : y + height + 4;
      if (beyond > 2 && beyond < PLOT_HEIGHT - 2) expect(picture.at(x + width / 2, beyond)).toEqual(WHITE);
    }
  });

  it('has lines through their figures, pale ones of what is compared, and dashes to what goes on', async () => {
    const chart: Plotted = {
      as: 'lines',
      points: [...points(3), { is_complete: false }],
      series: [{ figures: values(10, 90, 40, 20), compared: values(60, 60, 60, 60) }],
    };
    const picture = decoded(await pictureOf(chart));
    const plot = plotOf(chart);
    const places = [10, 90, 40].map((value, i) => [(i + 0.5) * plot.step, plot.y(value)] as const);
    for (const [x, y] of places) expect(picture.at(x, y)).toEqual([...colourOf(0)]);
    const [one = [0, 0], other = [0, 0]] = places;
    expect(picture.at((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)).toEqual([...colourOf(0)]);
    const pale = picture.at(plot.step * 3.5, plot.y(60));
    expect(pale).not.toEqual(WHITE);
    expect(pale[0]).toBeGreaterThan(colourOf(0)[0] + 50);
    const between = Array.from({ length: 40 }, (_, i) =>
      picture.at(plot.step * (2.5 + i / 40), plot.y(40 - i / 2)),
    );
    expect(between).toContainEqual(WHITE);
    expect(between.some((colour) => colour[0] === colourOf(0)[0])).toBe(true);
  });

  it('is small, and made of any figures', async () => {
    const figure = oneof(
      constant(null),
      record({ value: oneof(integer(), double({ noNaN: true, min: -1e15, max: 1e15 })) }),
    );
    const charts = integer({ min: 1, max: 30 }).chain((count) =>
      record({
        as: constantFrom('bars' as const, 'lines' as const, 'stack' as const),
        points: array(record({ is_complete: constantFrom(true, false) }), {
          minLength: count,
          maxLength: count,
        }),
        series: array(record({ figures: array(figure, { minLength: count, maxLength: count }) }), {
          minLength: 1,
          maxLength: 6,
        }),
      }),
    );
    const made: Promise<Buffer>[] = [];
    assert(
      property(charts, (chart) => {
        const { bars, lines } = plotOf(chart);
        for (const { x, y, width, height } of bars) {
          expect([x, y, width, height].every(Number.isFinite)).toBe(true);
          expect(y).toBeGreaterThanOrEqual(-1e-6);
          expect(x + width).toBeLessThanOrEqual(PLOT_WIDTH + 1e-6);
        }
        for (const [x, y] of lines.flatMap((of) => of.lines.flat())) {
          expect([x, y].every(Number.isFinite)).toBe(true);
          expect(y).toBeLessThanOrEqual(PLOT_HEIGHT + 1e-6);
        }
        if (made.length < 5) made.push(pictureOf(chart));
      }),
      { numRuns: runs(100) },
    );
    for (const png of await Promise.all(made)) expect(png.length).toBeLessThan(60_000);
  });

  it('has the colours of the console', async () => {
    const read = (path: string) => readFile(join(packageRoot, 'console/src', path), 'utf8');
    const [chart, tokens] = await Promise.all([read('ui/chart.module.css'), read('tokens.css')]);
    const accent = /--accent: light-dark\((#\w+)/.exec(tokens)?.[1];
    const others = [...chart.matchAll(/--series-\d: light-dark\((#\w+)/g)].map(([, colour]) => colour);
    const own = SERIES.map((colour) => `#${Buffer.from(colour).toString('hex')}`);
    expect(own).toEqual([accent, ...others]);
  });
});
