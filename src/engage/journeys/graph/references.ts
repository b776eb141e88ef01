import { askedSegment, conditionsOf } from '../../../segments/language/conditions.ts';
import type { Channel } from '../../../tenants/config/channels.ts';
import type { RuleProduct } from '../../../tenants/licence/rule.ts';
import { quoted, type IssueCode, type JourneyIssue } from './issues.ts';
import { qualifyingProductAt } from './qualifying.ts';
import type { Definition } from './shapes.ts';

/** A mention of another record in a definition. */
interface Mention {
  path: string;
  node_id: string | undefined;
  id: string;
}

/** Every mention of other records in a definition. */
export interface References {
  messages: { template: Mention; provider: Mention }[];
  segments: Mention[];
  bonus_templates: (Mention & { qualifying_product: RuleProduct | null })[];
  /** The nodes that call a webhook; `id` is the URL. */
  webhooks: Mention[];
}

/** What is known of the mentioned records. Ids that are not in it do not exist. */
export interface Found {
  templates: ReadonlyMap<string, { channel: Channel; is_active: boolean }>;
  providers: ReadonlyMap<string, { channel: Channel }>;
  segments: ReadonlySet<string>;
  /** Bonus templates from which can be granted; undefined: not checked. */
  bonus_templates: ReadonlySet<string> | undefined;
  /** What the tenant's licence says against the bonuses, in the order of their mentions; empty: nothing. */
  bonus_faults: readonly (readonly string[])[];
  /** Undefined: not checked. */
  has_webhook_secret: boolean | undefined;
}

/** Everything that a definition refers to. */
export function referencesOf(definition: Definition): References {
  const { trigger, graph, settings } = definition;
  const found: References = { messages: [], segments: [], bonus_templates: [], webhooks: [] };
  const segment = (path: string, id: string, node_id?: string) => found.segments.push({ path, id, node_id });
  if ('segment_id' in trigger) segment('trigger.segment_id', trigger.segment_id);
  for (const [i, rule] of settings.exit_on.entries()) {
    if ('segment_exited' in rule) segment(`settings.exit_on.${i}.segment_exited`, rule.segment_exited);
  }
  for (const [i, node] of [...graph.nodes.values()].entries()) {
    const mention = (field: string, id: string) => ({
      path: `graph.nodes.${i}.${field}`,
      node_id: node.id,
      id,
    });
    if (node.type === 'send_message') {
      found.messages.push({
        template: mention('template_id', node.template_id),
        provider: mention('provider_id', node.provider_id),
      });
    } else if (node.type === 'grant_bonus') {
      found.bonus_templates.push({
        ...mention('template_id', node.template_id),
        qualifying_product: qualifyingProductAt(definition, node.id),
      });
    } else if (node.type === 'call_webhook') found.webhooks.push(mention('url', node.url));
    else if (node.type === 'branch') {
      for (const [j, { condition }] of node.branches.entries()) {
        if (condition.kind !== 'segment') continue;
        for (const one of conditionsOf(condition.condition)) {
          const asked = askedSegment(one);
          if (asked !== undefined)
            segment(`graph.nodes.${i}.branches.${j}.condition`, asked.segment_id, node.id);
        }
      }
    }
  }
  return found;
}

/** What hinders activation: an empty list, or each mention of a record that is missing or unusable. */
export function referenceFaults(references: References, found: Found): JourneyIssue[] {
  const faults: JourneyIssue[] = [];
  const report = ({ path, node_id }: Mention, code: IssueCode, message: string) =>
    faults.push({ path, code, message, ...(node_id === undefined ? {} : { node_id }) });
  for (const { template, provider } of references.messages) {
    const known = found.templates.get(template.id);
    const through = found.providers.get(provider.id);
    if (known === undefined) {
      report(template, 'TEMPLATE_NOT_FOUND', `no template of this project has the id ${quoted(template.id)}`);
    } else if (!known.is_active) {
      report(
        template,
        'TEMPLATE_NOT_ACTIVE',
        `template ${template.id} is not active: set its status to active`,
      );
    }
    if (through === undefined) {
      const message = `no messaging provider of this tenant has the id ${quoted(provider.id)}`;
      report(provider, 'PROVIDER_NOT_FOUND', message);
    } else if (known !== undefined && known.channel !== through.channel) {
      const message = `provider ${provider.id} is for ${through.channel}, the template for ${known.channel}`;
      report(provider, 'CHANNEL_MISMATCH', message);
    }
  }
  for (const mention of references.segments) {
    if (found.segments.has(mention.id)) continue;
    report(mention, 'SEGMENT_NOT_FOUND', `no segment of this project has the id ${quoted(mention.id)}`);
  }
  for (const [i, mention] of references.bonus_templates.entries()) {
    if (!(found.bonus_templates?.has(mention.id) ?? true)) {
      const message = `no active bonus template of this project has the id ${quoted(mention.id)}`;
      report(mention, 'BONUS_TEMPLATE_NOT_ACTIVE', message);
    }
    for (const message of found.bonus_faults[i] ?? []) report(mention, 'LICENCE_RULE_VIOLATED', message);
  }
  for (const mention of references.webhooks) {
    if (found.has_webhook_secret ?? true) continue;
    const message = 'the project has no secret to sign webhooks with: make one at POST /v1/webhook-secrets';
    report(mention, 'WEBHOOK_SECRET_MISSING', message);
  }
  return faults;
}

/** What runs of a version watch for; `event` is the segment where the kind is `segment_exited`. */
export interface Watched {
  event: string;
  kind: 'wait' | 'exit' | 'goal' | 'segment_exited';
}

/** The events that runs of the definition wait for, or that end them, each once. */
export function watchedOf({ graph, settings }: Definition): Watched[] {
  const watched = new Map<string, Watched>();
  const add = (event: string, kind: Watched['kind']) => watched.set(`${kind} ${event}`, { event, kind });
  for (const node of graph.nodes.values()) if (node.type === 'wait_for_event') add(node.event, 'wait');
  for (const rule of settings.exit_on) {
    if ('event' in rule) add(rule.event, 'exit');
    else add(rule.segment_exited, 'segment_exited');
  }
  if (settings.goal !== undefined) add(settings.goal.event, 'goal');
  return [...watched.values()];
}
