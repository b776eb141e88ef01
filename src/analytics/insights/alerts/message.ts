import { oneLine } from '../../../engage/messaging/transports/email.ts';
import { escapeHtml } from '../../../engage/templates/liquid.ts';
import type { MoneyCatalogue } from '../../../engage/templates/money.ts';
import { exactJson, type JsonText } from '../../../platform/exact-json.ts';
import { localTimeText } from '../../../platform/local-intervals.ts';
import { figureText } from '../figure-text.ts';
import type { Cell } from '../kind.ts';
import type { Measure } from './measure.ts';
import type { ClaimedAlert, Firing } from './queries.ts';
import type { Condition } from './schema.ts';

/** What a notice of an alert is made of: figures of the project, and nothing of a player. */
export interface FiredAlert {
  claimed: Pick<ClaimedAlert, 'tenant_id' | 'project_id' | 'alert_id' | 'name' | 'content'>;
  measure: Pick<Measure, 'column' | 'asked'>;
  firing: Firing;
  money: MoneyCatalogue;
  now: Date;
  notice_id: string;
}

/** The body of a webhook, and the same as a message: subject, text and HTML. Pure. */
export function noticeContents(fired: FiredAlert): {
  payload: string;
  subject: string;
  text: string;
  html: string;
} {
  const { claimed, measure, firing, now, notice_id } = fired;
  const { tenant_id, project_id, alert_id, name, content } = claimed;
  const { currency, scope } = measure.asked;
  const payload = exactJson({
    event: 'alert.fired',
    event_id: notice_id,
    ts: now.toISOString(),
    tenant_id,
    project_id,
    alert: { id: alert_id, name, condition: content.condition },
    figure: { label: measure.column.label, type: measure.column.type, currency },
    interval: {
      kind: content.interval,
      from: firing.from_at.toISOString(),
      to: firing.to_at.toISOString(),
      timezone: scope.zone.name,
    },
    ...firing.facts,
  });
  const lines = linesOf(fired);
  const subject = oneLine(`Alert: ${name}`);
  const html = lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('\n');
  return { payload, subject, text: lines.join('\n\n'), html: `<!doctype html>\n${html}` };
}

function linesOf({ claimed, measure, firing, money }: FiredAlert): string[] {
  const { asked, column } = measure;
  const { zone } = asked.scope;
  const { value, before, low, high } = firing.facts;
  const unit = column.type === 'money' || column.type === 'rate' ? column.type : 'number';
  const text = (cell: Cell) => figureText(cell, unit, { catalogue: money, currency: asked.currency });
  const compared = [
    ...(before === null ? [] : [`Before: ${text(before)}`]),
    ...(low === null || high === null ? [] : [`Usual: from ${limitText(low)} to ${limitText(high)}`]),
  ];
  const [from, to] = [firing.from_at, firing.to_at].map((at) => localTimeText(zone, at.getTime()));
  return [
    claimed.name,
    `${column.label}: ${text(value)}`,
    ...compared,
    `Interval: ${from} to ${to} (${zone.name})`,
    `Condition: ${conditionText(claimed.content.condition)}`,
  ];

  function limitText(number: JsonText): string {
    if (column.type !== 'money') return number.text;
    return text(BigInt(number.text.split('.', 1)[0] ?? '0'));
  }
}

const SIGNS = { gt: 'above', gte: 'at least', lt: 'below', lte: 'at most' } as const;

function conditionText(condition: Condition): string {
  switch (condition.kind) {
    case 'threshold':
      return `${SIGNS[condition.op]} ${condition.value}`;
    case 'change': {
      const against = condition.against === 'previous' ? 'the interval before' : 'a week before';
      return `a change against ${against} of ${SIGNS[condition.op]} ${condition.bp / 100} %`;
    }
    case 'unusual':
      return `outside of what is usual at this time of the week, from a volume of ${condition.minimum} on`;
  }
}
