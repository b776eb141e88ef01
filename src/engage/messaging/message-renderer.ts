import { setImmediate } from 'node:timers/promises';
import { BoundedCache } from '../../platform/bounded-cache.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Message } from '../providers/message.ts';
import { selectBonuses } from '../templates/bonus-queries.ts';
import { readsBonus } from '../templates/bonus-message.ts';
import { NO_MONEY, type MoneyCatalogue } from '../templates/money.ts';
import { readMoney } from '../templates/money-catalogue.ts';
import { playerScope, type ScopeBonus } from '../templates/player-scope.ts';
import { renderLongMessage } from '../templates/rendering.ts';
import { compileTemplate, isBlank, renderMessage, type CompiledTemplate } from '../templates/render.ts';
import { selectSources, type ClaimedSend, type SourceTemplate } from './messenger-queries.ts';
import type { SendQueue } from './queue-queries.ts';
import { unsubscribeHeaders } from './unsubscribe-link.ts';

/** How long messages are rendered before the event loop gets a turn: a request needs several turns. */
const RENDERING_MS = 5;
/** A message that took so long is followed by others of its template in turns with other long work, and with rests. */
const LONG_MS = 1;
const MAX_TEMPLATES = 1_000;

/** The key and the address of unsubscribe links. */
interface LinkSettings {
  link_key: Buffer;
  public_url: string;
}

/** What a message is made of, in addition to its row. */
interface Known {
  bonus: ScopeBonus | undefined;
  catalogue: MoneyCatalogue;
}

/** Makes messages out of claimed rows; keeps the templates that it has compiled. */
export class MessageRenderer {
  readonly #deps: Pick<Platform, 'postgres' | 'logger'>;
  readonly #settings: LinkSettings;
  readonly #templates = new BoundedCache<string, CompiledTemplate>({ max: MAX_TEMPLATES });
  /** Templates whose last message took long. */
  readonly #long = new WeakSet<CompiledTemplate>();

  constructor(deps: Pick<Platform, 'postgres' | 'logger'>, settings: LinkSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /**
   * Renders claimed messages one by one; every 5 ms it lets the event loop run, and after a message that took long for
   * longer. `message` is undefined when there is nothing to send. Rejects when the templates cannot be read.
   */
  async *renderAll(
    queue: SendQueue,
    claimed: readonly ClaimedSend[],
  ): AsyncGenerator<{ row: ClaimedSend; message: Message | undefined }> {
    const templates = await this.#templatesOf(queue, claimed);
    const bonuses = await this.#bonusesOf(queue, claimed, templates);
    const catalogue = await this.#moneyOf(queue, templates);
    let since_ms = performance.now();
    for (const row of claimed) {
      const template = templates.get(row.template_id ?? '');
      const render = () =>
        this.#renderTimed(queue, row, template, { bonus: bonuses.get(row.send_id), catalogue });
      if (template !== undefined && this.#long.has(template)) {
        yield { row, message: await renderLongMessage(queue.tenant_id, render) };
        since_ms = performance.now();
        continue;
      }
      if (performance.now() - since_ms > RENDERING_MS) {
        await setImmediate();
        since_ms = performance.now();
      }
      yield { row, message: render() };
    }
  }

  async #templatesOf(
    queue: SendQueue,
    claimed: readonly ClaimedSend[],
  ): Promise<Map<string, CompiledTemplate>> {
    const ids = new Set(claimed.flatMap(({ template_id }) => (template_id === null ? [] : [template_id])));
    const sources = await selectSources(this.#deps.postgres.service, queue, [...ids]);
    const compiled = sources.flatMap((source) => {
      const key = `${source.template_id} ${source.updated_at.getTime()}`;
      const template = this.#templates.get(key) ?? this.#compile(source);
      if (template === undefined) return [];
      this.#templates.set(key, template);
      return [[source.template_id, template] as const];
    });
    return new Map(compiled);
  }

  /** The bonuses of messages whose templates read one; others are not looked up. */
  async #bonusesOf(
    queue: SendQueue,
    claimed: readonly ClaimedSend[],
    templates: ReadonlyMap<string, CompiledTemplate>,
  ): Promise<ReadonlyMap<string, ScopeBonus>> {
    const reading = claimed.filter(({ template_id }) => {
      const template = templates.get(template_id ?? '');
      return template !== undefined && readsBonus(template);
    });
    return reading.length === 0 ? new Map() : selectBonuses(this.#deps.postgres.service, queue, reading);
  }

  /** The currencies of the tenant, where a template may write amounts. */
  async #moneyOf(
    { tenant_id }: SendQueue,
    templates: ReadonlyMap<string, CompiledTemplate>,
  ): Promise<MoneyCatalogue> {
    const is_used = [...templates.values()].some(({ mentions_money }) => mentions_money);
    return is_used ? readMoney(this.#deps.postgres.service, tenant_id) : NO_MONEY;
  }

  /** Undefined for a template that does not compile: it was stored by a version that accepted it. */
  #compile(source: SourceTemplate): CompiledTemplate | undefined {
    try {
      return compileTemplate(source);
    } catch (error) {
      this.#deps.logger.warn({ err: error, template_id: source.template_id }, 'a template is unusable');
      return undefined;
    }
  }

  /** Renders, and remembers whether it took long. */
  #renderTimed(
    queue: SendQueue,
    row: ClaimedSend,
    template: CompiledTemplate | undefined,
    known: Known,
  ): Message | undefined {
    if (template === undefined) return undefined;
    const started_ms = performance.now();
    const message = this.#render(queue, row, template, known);
    if (performance.now() - started_ms > LONG_MS) this.#long.add(template);
    else this.#long.delete(template);
    return message;
  }

  /** Undefined when there is nothing to send: the template fails for this player, or its body is blank. */
  #render(
    queue: SendQueue,
    row: ClaimedSend,
    template: CompiledTemplate,
    { bonus, catalogue }: Known,
  ): Message | undefined {
    const { channel, tenant_id, project_id } = queue;
    const { send_id, player_id, recipient } = row;
    const { link_key, public_url } = this.#settings;
    const who = { tenant_id, project_id, player_id, channel, address: recipient };
    const { url, headers } = unsubscribeHeaders(link_key, public_url, who);
    try {
      const scope = playerScope(row, { context: row.context, bonus: bonus ?? null, unsubscribe_url: url });
      const rendered = renderMessage(template, scope, catalogue);
      if (isBlank(rendered)) return undefined;
      const { subject, preheader, body, text, data } = rendered;
      const of_email = channel === 'email' ? headers : {};
      return { channel, recipient, subject, preheader, body, text, data, headers: of_email, send_id };
    } catch (error) {
      this.#deps.logger.warn({ err: error, send_id }, 'a template could not be rendered');
      return undefined;
    }
  }
}
