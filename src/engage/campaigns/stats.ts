import type { CampaignRow } from './queries.ts';
import type { Counters } from './stats-queries.ts';

/** The counters as JSON numbers, and the rates between them as fractions (spec part 4); a rate of nothing is 0. */
export function statsOf({ campaign_id, status }: CampaignRow, counted: Counters) {
  const counters = {
    recipients_total: Number(counted.recipients_total),
    sent: Number(counted.sent),
    delivered: Number(counted.delivered),
    opened: Number(counted.opened),
    clicked: Number(counted.clicked),
    bounced: Number(counted.bounced),
    failed: Number(counted.failed),
    capped: Number(counted.capped),
  };
  const { sent, delivered, opened, clicked, bounced } = counters;
  const rates = {
    delivered_rate: rate(delivered, sent),
    open_rate: rate(opened, delivered),
    click_rate: rate(clicked, delivered),
    bounce_rate: rate(bounced, sent),
  };
  return { campaign_id, status, counters, rates, machine_opened: Number(counted.machine_opened) };
}

/** `part` / `whole`; 0 when `whole` is 0. */
export function rate(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
