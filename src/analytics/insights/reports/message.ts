import type { Picture } from '../../../engage/providers/message.ts';
import { oneLine } from '../../../engage/messaging/transports/email.ts';
import { escapeHtml } from '../../../engage/templates/liquid.ts';
import type { MoneyCatalogue } from '../../../engage/templates/money.ts';
import { exactJson } from '../../../platform/exact-json.ts';
import { localDate, localTimeText } from '../../../platform/local-intervals.ts';
import type { TimeZone } from '../../../platform/time-zone.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { hasLabel, plotOf } from '../chart.ts';
import type { InsightQuery } from '../schema.ts';
import type { MailContent } from '../notices/queries.ts';
import { chartsOf, type TileChart } from './charts.ts';
import { colourOf, pictureOf, SHOWN_HEIGHT, SHOWN_WIDTH } from './paint.ts';
import { tableOf, type TileTable, type TileTexts } from './table.ts';
import type { Board, Tile } from './tiles.ts';

/** Bytes of all answers in the body of a webhook. */
export const MAX_ANSWER_BYTES = 1_000_000;

/** Bytes of all pictures of a message, in base64; a chart that has no room is left to the console. */
export const MAX_PICTURE_BYTES = 1_000_000;

/** What a report says: figures of a project, and nothing of a player. */
export interface MadeReport {
  project: ProjectRef;
  name: string;
  board: Pick<Board, 'dashboard_id' | 'name'>;
  tiles: readonly Tile[];
  due_ms: number;
  zone: TimeZone;
  money: MoneyCatalogue;
  public_url: string;
}

/** The body of a webhook, as JSON text. An answer that has no room is named. Pure. */
export function payloadOf(
  { project, name, board, tiles, due_ms, zone }: MadeReport,
  { notice_id, report_id, now }: { notice_id: string; report_id: string; now: Date },
): string {
  const { tenant_id, project_id } = project;
  let left = MAX_ANSWER_BYTES;
  return exactJson({
    event: 'report.sent',
    event_id: notice_id,
    ts: now.toISOString(),
    tenant_id,
    project_id,
    report: { id: report_id, name },
    dashboard: { id: board.dashboard_id, name: board.name },
    time: new Date(due_ms).toISOString(),
    timezone: zone.name,
    tiles: tiles.map(({ insight_id, name: of_insight, answer, fault }) => {
      const insight = { id: insight_id, name: of_insight };
      if (answer === null) return { insight, answer, error: { code: fault.code, message: fault.message } };
      const bytes = Buffer.byteLength(answer.json.text);
      if (bytes > left) return { insight, answer: null, error: TOO_LARGE };
      left -= bytes;
      return { insight, answer: answer.json, error: null };
    }),
  });
}

const TOO_LARGE = { code: 'ANSWER_TOO_LARGE', message: 'the console has its figures' };

/** A report as a message with a picture of each chart, and each tile as a table. */
export async function mailOf(report: MadeReport): Promise<MailContent & { pictures: readonly Picture[] }> {
  const { name, board, tiles, due_ms, zone } = report;
  const time = `${localTimeText(zone, due_ms)} (${zone.name})`;
  const link = linkOf(report);
  const parts: TilePart[] = [];
  let left = MAX_PICTURE_BYTES;
  for (const [place, tile] of tiles.entries()) {
    const part = await partOf(tile, place, report, left);
    left -= part.pictures.reduce((sum, { png }) => sum + png.length, 0);
    parts.push(part);
  }
  const empty = tiles.length === 0 ? ['The dashboard has no tiles.'] : [];
  const text = [
    name,
    `${board.name}, ${time}`,
    ...empty,
    ...parts.map((part) => part.text),
    `In the console: ${link}`,
  ];
  const html = [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(name)}</title></head>`,
    `<body style="${STYLE.body}">`,
    `<h1 style="font-size:20px">${escapeHtml(name)}</h1>`,
    `<p>${escapeHtml(`${board.name}, ${time}`)}</p>`,
    ...empty.map((line) => `<p>${line}</p>`),
    ...parts.map((part) => part.html),
    `<p><a href="${escapeHtml(link)}">${escapeHtml(board.name)} in the console</a></p>`,
    '</body></html>',
  ];
  return {
    subject: oneLine(`Report: ${name}`),
    text: text.join('\n\n'),
    html: html.join('\n'),
    pictures: parts.flatMap((part) => part.pictures),
  };
}

/** Where the console shows the dashboard. */
function linkOf({ public_url, project, board }: MadeReport): string {
  const search = new URLSearchParams({ project: project.project_id, board: board.dashboard_id });
  return `${public_url}/console/insights?${search.toString()}`;
}

interface TilePart {
  text: string;
  html: string;
  pictures: Picture[];
}

const STYLE = {
  body: 'font-family:Arial,sans-serif;font-size:14px;color:#1c2026;background:#ffffff',
  cell: 'padding:2px 8px;border-bottom:1px solid #d5d9e0',
  axis: 'padding:0 8px 0 0;font-size:12px;color:#5a616c',
} as const;

/** `room`: bytes that its pictures may have. */
async function partOf(
  tile: Tile,
  place: number,
  { zone, money }: MadeReport,
  room: number,
): Promise<TilePart> {
  const heading = `<h2 style="font-size:16px">${escapeHtml(tile.name)}</h2>`;
  if (tile.answer === null) {
    const says = `No figures: ${tile.fault.message} (${tile.fault.code})`;
    return { text: `${tile.name}\n${says}`, html: `${heading}\n<p>${escapeHtml(says)}</p>`, pictures: [] };
  }
  const { query, answer } = tile;
  const texts: TileTexts = { query, answer, zone, money: { catalogue: money, currency: answer.currency } };
  const table = tableOf(texts);
  const more = table.more === 0 ? [] : [`${table.more} more rows in the console`];
  const lines = [table.head, ...table.rows].map((cells) => cells.join(' | '));
  const range = rangeText(query, zone);
  const html: string[] = [heading, `<p>${range}</p>`];
  const pictures: Picture[] = [];
  let left = room;
  for (const [number, chart] of chartsOf(texts).entries()) {
    const cid = `tile-${place}-${number}`;
    const png = (await pictureOf(chart)).toString('base64');
    left -= png.length;
    if (left < 0) break;
    pictures.push({ cid, png });
    html.push(chartHtml(chart, cid));
  }
  html.push(tableHtml(table), ...more.map((line) => `<p>${line}</p>`));
  return { text: [tile.name, range, ...lines, ...more].join('\n'), html: html.join('\n'), pictures };
}

/** The first and the last day of a query, whose range is fixed. */
function rangeText({ range }: InsightQuery, zone: TimeZone): string {
  if ('last' in range) return `the last ${range.last.days} days`;
  const [from, to] = [localDate(zone, Date.parse(range.from)), localDate(zone, Date.parse(range.to) - 1)];
  return from === to ? from : `${from} to ${to}`;
}

/** A picture with its axis as text: it has only shapes. */
function chartHtml(chart: TileChart, cid: string): string {
  const { title, points, series, tick } = chart;
  const [top, middle, bottom] = plotOf(chart).ticks.map((value) => escapeHtml(tick(value)));
  const axis = (text: string | undefined, valign: string) =>
    `<td align="right" valign="${valign}" style="${STYLE.axis}">${text ?? ''}</td>`;
  const image = `<img src="cid:${cid}" width="${SHOWN_WIDTH}" height="${SHOWN_HEIGHT}" alt="${escapeHtml(`Chart of ${title}`)}">`;
  const labelled = points.filter((_, i) => hasLabel(i, points.length));
  const dates = labelled.map(({ label }) => `<td style="${STYLE.axis}">${escapeHtml(label)}</td>`).join('');
  const legend = series.map(({ name }, i) => {
    const colour = `#${Buffer.from(colourOf(i)).toString('hex')}`;
    return `<span style="color:${colour}">■</span> ${escapeHtml(name)}`;
  });
  if (series.some(({ compared }) => compared !== undefined)) legend.push('pale: compared with');
  if (points.some(({ is_complete }) => !is_complete)) legend.push('dashed: goes on');
  return [
    '<table role="presentation" cellspacing="0" cellpadding="0">',
    `<tr>${axis(top, 'top')}<td rowspan="3">${image}</td></tr>`,
    `<tr>${axis(middle, 'middle')}</tr>`,
    `<tr>${axis(bottom, 'bottom')}</tr>`,
    `<tr><td></td><td><table role="presentation" width="${SHOWN_WIDTH}"><tr>${dates}</tr></table></td></tr>`,
    '</table>',
    `<p style="${STYLE.axis}">${legend.join(' &nbsp; ')}</p>`,
  ].join('\n');
}

function tableHtml({ head, rows, is_figure }: TileTable): string {
  const cell = (tag: 'th' | 'td', text: string, i: number) =>
    `<${tag} align="${is_figure[i] ? 'right' : 'left'}" style="${STYLE.cell}">${escapeHtml(text)}</${tag}>`;
  const line = (tag: 'th' | 'td', cells: readonly string[]) =>
    `<tr>${cells.map((text, i) => cell(tag, text, i)).join('')}</tr>`;
  return `<table cellspacing="0">\n${[line('th', head), ...rows.map((row) => line('td', row))].join('\n')}\n</table>`;
}
