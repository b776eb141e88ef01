import { BoundedCache } from '../../platform/bounded-cache.ts';
import { ApiError } from '../../errors.ts';
import { mentionsMoney, type MoneyCatalogue } from '../templates/money.ts';
import { playerScope } from '../templates/player-scope.ts';
import { compileTemplate, renderMessage, RenderFailed, type CompiledTemplate } from '../templates/render.ts';
import type { ClaimedCall, Source } from './claim-queries.ts';
import { exactJson } from '../../platform/exact-json.ts';

/** The longest body in bytes, as Standard Webhooks advises. */
export const MAX_BODY_BYTES = 20 * 1024;
const MAX_TEMPLATES = 1_000;

/** Why a webhook has no body. */
export type PayloadFault = 'WEBHOOK_BODY_TOO_LARGE' | 'TEMPLATE_FAILED';

/** Makes the bodies of webhooks; keeps the templates that it has compiled. */
export class PayloadMaker {
  readonly #templates = new BoundedCache<string, CompiledTemplate>({ max: MAX_TEMPLATES });

  /** Whether making the body may need the currencies of the tenant. */
  static needsMoney({ data }: Source): boolean {
    const texts: string[] = [];
    mapTexts(data, (text) => texts.push(text));
    return mentionsMoney(texts);
  }

  /** The body as JSON; every text in the node's data is rendered as Liquid. */
  payloadOf(
    delivery: ClaimedCall,
    source: Source,
    catalogue: MoneyCatalogue,
  ): { payload: string } | PayloadFault {
    const { player, context } = source;
    const { event_id, created_at, tenant_id, project_id, journey_id, journey_version, run_id, node_id } =
      delivery;
    let rendered: unknown;
    try {
      rendered = this.#render(delivery, source, catalogue);
    } catch (error) {
      const is_expected =
        error instanceof RenderFailed || (error instanceof ApiError && error.code === 'TEMPLATE_INVALID');
      if (is_expected) return 'TEMPLATE_FAILED';
      throw error;
    }
    const payload = exactJson({
      event: 'journey.webhook',
      event_id,
      ts: created_at.toISOString(),
      tenant_id,
      project_id,
      journey_id,
      journey_version,
      run_id,
      node_id,
      player: { id: delivery.player_id, external_id: player?.external_id ?? null },
      context,
      data: rendered,
    });
    return Buffer.byteLength(payload) > MAX_BODY_BYTES ? 'WEBHOOK_BODY_TOO_LARGE' : { payload };
  }

  #render(
    { journey_id, journey_version, node_id }: ClaimedCall,
    { player, context, data }: Source,
    catalogue: MoneyCatalogue,
  ): unknown {
    const texts: string[] = [];
    mapTexts(data, (text) => texts.push(text));
    if (!texts.some((text) => /\{[{%]/.test(text))) return data;
    const key = `${journey_id} ${journey_version} ${node_id}`;
    let template = this.#templates.get(key);
    if (template === undefined) {
      const fields = Object.fromEntries(texts.map((text, i) => [String(i), text]));
      template = compileTemplate({ channel: 'push', subject: null, preheader: null, body: '', data: fields });
      this.#templates.set(key, template);
    }
    const scope = player === null ? { context, journey: { context } } : playerScope(player, { context });
    const rendered = renderMessage(template, scope, catalogue);
    let next = 0;
    return mapTexts(data, () => rendered.data[String(next++)] ?? '');
  }
}

/** The value with every text in it replaced, in an order that depends on the value alone; keys stay. */
function mapTexts(value: unknown, change: (text: string) => unknown): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((one: unknown) => mapTexts(one, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapTexts(one, change)]));
}
