import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Platform } from '../../wiring/platform.ts';
import type { Message } from '../providers/message.ts';
import { playerScope } from '../templates/player-scope.ts';
import { compileTemplate, isBlank, renderMessage, type CompiledTemplate } from '../templates/render.ts';
import { selectSources, type ClaimedSend, type SendQueue, type SourceTemplate } from './messenger-queries.ts';
import { unsubscribeHeaders } from './unsubscribe-link.ts';

/** How long messages are rendered before the event loop gets a turn. */
const RENDERING_MS = 20;
const MAX_TEMPLATES = 1_000;

/** The key and the address of unsubscribe links. */
interface LinkSettings {
  link_key: Buffer;
  public_url: string;
}

/** Makes messages out of claimed rows; keeps the templates that it has compiled. */
export class MessageRenderer {
  readonly #deps: Pick<Platform, 'postgres' | 'logger'>;
  readonly #settings: LinkSettings;
  readonly #templates = new LRUCache<string, CompiledTemplate>({ max: MAX_TEMPLATES });

  constructor(deps: Pick<Platform, 'postgres' | 'logger'>, settings: LinkSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /**
   * Renders claimed messages one by one; every 20 ms it lets the event loop run. `message` is undefined when there is
   * nothing to send. Rejects when the templates cannot be read.
   */
  async *renderAll(
    queue: SendQueue,
    claimed: readonly ClaimedSend[],
  ): AsyncGenerator<{ row: ClaimedSend; message: Message | undefined }> {
    const templates = await this.#templatesOf(queue, claimed);
    let since_ms = performance.now();
    for (const row of claimed) {
      if (performance.now() - since_ms > RENDERING_MS) {
        await setImmediate();
        since_ms = performance.now();
      }
      yield { row, message: this.#render(queue, row, templates.get(row.template_id ?? '')) };
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

  /** Undefined for a template that does not compile: it was stored by a version that accepted it. */
  #compile(source: SourceTemplate): CompiledTemplate | undefined {
    try {
      return compileTemplate(source);
    } catch (error) {
      this.#deps.logger.warn({ err: error, template_id: source.template_id }, 'a template is unusable');
      return undefined;
    }
  }

  /** Undefined when there is nothing to send: the template fails for this player, or its body is blank. */
  #render(queue: SendQueue, row: ClaimedSend, template: CompiledTemplate | undefined): Message | undefined {
    if (template === undefined) return undefined;
    const { channel, tenant_id, project_id } = queue;
    const { send_id, player_id, recipient } = row;
    const { link_key, public_url } = this.#settings;
    const who = { tenant_id, project_id, player_id, channel, address: recipient };
    const { url, headers } = unsubscribeHeaders(link_key, public_url, who);
    try {
      const scope = playerScope(row, { context: row.context, unsubscribe_url: url });
      const rendered = renderMessage(template, scope);
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
