import { ApiError } from '../../../errors.ts';
import type { Postgres } from '../../../platform/postgres/port.ts';
import type { Channel } from '../../../tenants/config/channels.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import { playerScope, type ScopePlayer } from '../../templates/player-scope.ts';
import { scopeBonusFor } from '../../templates/preview.ts';
import { selectTemplate } from '../../templates/queries.ts';
import { moneyFor } from '../../templates/money-catalogue.ts';
import { compileTemplate, isBlank, RenderFailed, renderMessage } from '../../templates/render.ts';
import { renderForRequest } from '../../templates/rendering.ts';
import { barredCode } from '../runs/facts.ts';
import type { RunPlayer } from '../runs/facts-queries.ts';
import type { SimulateResult } from './schema.ts';
import type { VirtualSend } from './virtual-run.ts';

type Message = SimulateResult['messages'][number];

/** Characters of all messages together; those above it are not shown. */
const MAX_SHOWN = 2 * 1024 * 1024;

interface Deps {
  postgres: Postgres;
  /** The base URL of unsubscribe links, which have no token here. */
  public_url: string;
}

/**
 * Renders the messages of a run as the messenger would; a bonus is the one that its player has now. `read`: what templates
 * read of its player, who is a sample or a real one. `note` gets the node of a message that would not go out, and why.
 * Rejects with TooBusy.
 */
export async function renderSends(
  { postgres, public_url }: Deps,
  project: ProjectRef,
  sends: readonly VirtualSend[],
  { read, is_sample }: { read: ScopePlayer; is_sample: boolean },
  note: (node_id: string, text: string) => void,
): Promise<Message[]> {
  const messages: Message[] = [];
  const unsubscribe_url = `${public_url}/v1/unsubscribe`;
  let left = MAX_SHOWN;
  for (const { node, context, player } of sends) {
    const [template] = await postgres.readAsTenant(project.tenant_id, (tx) =>
      selectTemplate(tx, { ...project, template_id: node.template_id }),
    );
    const recipient = template && recipientOf(player, template.channel);
    const barred = barredCode(player);
    if (template === undefined || recipient === undefined || barred !== undefined) {
      const code = barred ?? (template === undefined ? 'TEMPLATE_MISSING' : 'SKIPPED_NO_RECIPIENT');
      note(node.id, `the message would not go out: ${code}`);
      continue;
    }
    const catalogue = await moneyFor(postgres, project.tenant_id, template);
    const who = is_sample ? undefined : player.player_id;
    const bonus = await scopeBonusFor(postgres, project, template, who);
    const rendered = await renderForRequest(project.tenant_id, () => {
      try {
        return renderMessage(
          compileTemplate(template),
          playerScope(scopeOf(player, read), { context, bonus, unsubscribe_url }),
          catalogue,
        );
      } catch (error) {
        if (error instanceof RenderFailed || error instanceof ApiError) return error.message;
        throw error;
      }
    });
    if (typeof rendered === 'string' || isBlank(rendered)) {
      const why = typeof rendered === 'string' ? rendered : 'its body is blank';
      note(node.id, `the message would not go out: TEMPLATE_FAILED: ${why}`);
      continue;
    }
    left -= rendered.body.length;
    if (left < 0) {
      note(node.id, `the message is not shown: all together have over ${MAX_SHOWN} characters`);
      continue;
    }
    const { subject, body } = rendered;
    const of_subject = subject === null ? {} : { subject };
    messages.push({ node_id: node.id, channel: template.channel, recipient, ...of_subject, body });
  }
  return messages;
}

/** As `recipientOf`: the address of the player on the channel. */
function recipientOf({ email, phone, custom_attributes }: RunPlayer, channel: Channel): string | undefined {
  const token = custom_attributes['push_token'];
  const address = { email, sms: phone, push: typeof token === 'string' ? token : null }[channel];
  return address === null || address === '' ? undefined : address;
}

/** What templates read of the player: what was read before the run, with what the run may have changed. */
function scopeOf(player: RunPlayer, read: ScopePlayer): ScopePlayer {
  const { player_id, external_id, email, phone, timezone, default_currency_code, current_tier_code } = player;
  const { custom_attributes, telegram_id, status } = player;
  const fields = { player_id, external_id, email, phone, timezone, default_currency_code, current_tier_code };
  return { ...read, ...fields, telegram_id, player_status: status, custom_attributes };
}
