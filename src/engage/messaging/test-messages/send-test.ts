import { ApiError, validationError } from '../../../errors.ts';
import { NotCaughtUp, waitUntilFolded } from '../../../analytics/caught-up.ts';
import { gateAt, gateRulesOf, withoutTiming } from '../gate.ts';
import type { Auditing } from '../../../http/audit.ts';
import type { Channel } from '../../../tenants/config/channels.ts';
import type { Message, SendOutcome } from '../../providers/message.ts';
import { noteOutcomes } from '../../providers/note-credentials.ts';
import { SKIP_CODES, type FailureCode, type SkipCode } from '../send-row.ts';
import { isAddress } from '../transports/email.ts';
import { openTransport } from '../transports/open.ts';
import { decryptSecrets } from '../../providers/credentials.ts';
import { selectProviderFor, type ProviderRow } from '../../providers/queries.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import type { EventLog } from '../../../platform/event-log/port.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Postgres, Tx } from '../../../platform/postgres/port.ts';
import type { EncryptionKeys } from '../../../platform/encryption.ts';
import { readTenantConfig } from '../../../tenants/config/read.ts';
import type { ScopePlayer } from '../../templates/player-scope.ts';
import { findScopePlayer, scopeFor } from '../../templates/preview.ts';
import { moneyFor } from '../../templates/money-catalogue.ts';
import { bonusProductOf } from '../../templates/bonus-message.ts';
import type { TemplateRef, TemplateRow } from '../../templates/queries.ts';
import { requireTemplate } from '../../templates/read.ts';
import {
  compileTemplate,
  isBlank,
  RenderFailed,
  renderMessage,
  type Rendered,
} from '../../templates/render.ts';
import { renderForRequest } from '../../templates/rendering.ts';
import { codesOfErased } from './erased-people.ts';
import { selectAddressVerdict, selectVerdict } from './queries.ts';
import type { SendTestBody } from './schema.ts';

/** The dependencies of sending a test. */
export interface SendTestDeps {
  eventLog: EventLog;
  postgres: Postgres;
  clock: Clock;
  logger: Logger;
  egress: Egress;
  credentials_keys: EncryptionKeys;
  /** The key under which protections of erased people are kept. */
  erasure_key: Buffer;
  public_url: string;
}

/** The result of a test. */
export interface TestSend {
  recipient: string;
  channel: Channel;
  template_id: string;
  provider_id: string;
  player_id: string | null;
  status: 'sent' | 'failed';
  error_code: SkipCode | FailureCode | null;
  provider_message_id: string | null;
  sent_at: string | null;
}

/** How long a test waits for the fold: longer than its usual lag. */
const FENCE_WAIT_MS = 10_000;
const RETRY_AFTER_S = 5;

const RECIPIENTS: Readonly<Record<Channel, readonly [(text: string) => boolean, string]>> = {
  email: [isAddress, 'must be an email address'],
  sms: [(text) => /^\+?[\d ()./-]{3,40}$/.test(text), 'must be a telephone number'],
  push: [(text) => /^[^\s\p{Cc}]+$/u.test(text), 'must be a push token'],
};

/**
 * Sends the template to `recipient`, as the player would get it, without frequency caps and quiet hours. The other
 * rules of the gate apply. A refusal by the gate or by the provider is a result, not an error. There are no retries.
 * Rejects with TEMPLATE_NOT_FOUND, TEMPLATE_NOT_ACTIVE, PLAYER_NOT_FOUND, PROVIDER_NOT_CONFIGURED, VALIDATION_ERROR, or
 * SERVICE_UNAVAILABLE when the fold lags more than 10 s.
 */
export async function sendTest(
  deps: SendTestDeps & Auditing,
  ref: TemplateRef,
  body: SendTestBody,
): Promise<TestSend> {
  const template = await requireTemplate(deps.postgres, ref);
  if (template.status !== 'active') {
    const message = `the template is ${template.status}: make it active first`;
    throw new ApiError('TEMPLATE_NOT_ACTIVE', message);
  }
  const [isUsable, says] = RECIPIENTS[template.channel];
  if (!isUsable(body.recipient)) throw validationError([{ path: 'recipient', message: says }]);
  const { player_id } = body;
  const player = player_id ? await findScopePlayer(deps.postgres, ref, player_id) : undefined;
  const provider = await chooseProvider(deps.postgres, ref.tenant_id, template.channel, body.provider_id);
  const made = await deliver(deps, ref, template, player, provider, body.recipient);
  const is_sent = made.error_code === null;
  return {
    recipient: body.recipient,
    channel: template.channel,
    template_id: ref.template_id,
    provider_id: provider.provider_id,
    player_id: player?.player_id ?? null,
    status: is_sent ? 'sent' : 'failed',
    ...made,
    sent_at: is_sent ? new Date(deps.clock.now_ms()).toISOString() : null,
  };
}

type Made = Pick<TestSend, 'error_code' | 'provider_message_id'>;
const failed = (error_code: SkipCode | FailureCode): Made => ({ error_code, provider_message_id: null });

async function deliver(
  deps: SendTestDeps & Auditing,
  ref: TemplateRef,
  template: TemplateRow,
  player: ScopePlayer | undefined,
  provider: ProviderRow,
  recipient: string,
): Promise<Made> {
  const { logger } = deps;
  const { channel } = template;
  const verdict = await verdictOn(deps, ref, template, player, recipient);
  if (verdict !== null) return failed(verdict);
  const catalogue = await moneyFor(deps.postgres, ref.tenant_id, template);
  const scope = await scopeFor(deps, ref, template, player);
  let rendered: Rendered;
  try {
    rendered = await renderForRequest(ref.tenant_id, () =>
      renderMessage(compileTemplate(template), scope, catalogue),
    );
  } catch (error) {
    if (!(error instanceof RenderFailed)) throw error;
    logger.info({ template_id: ref.template_id, reason: error.message }, 'a test could not be rendered');
    return failed('TEMPLATE_FAILED');
  }
  if (isBlank(rendered)) return failed('TEMPLATE_FAILED');
  const { missing_variables: _missing, ...content } = rendered;
  const { provider_id } = provider;
  const test = { channel, provider_id, player_id: player?.player_id ?? null };
  const message = { ...content, channel, recipient, headers: {}, send_id: null };
  const outcome = await hand(deps, provider, message, () => auditTest(deps, ref, test));
  if (outcome.kind === 'sent') return { error_code: null, provider_message_id: outcome.provider_message_id };
  logger.warn({ provider_id, outcome: outcome.kind, reason: outcome.reason }, 'a test was not sent');
  return failed(CODES[outcome.kind]);
}

/**
 * Writes the audit row before the message is handed over, so that every test is recorded; without the recipient's
 * address.
 */
async function auditTest(
  { postgres, audit }: SendTestDeps & Auditing,
  { tenant_id, project_id, template_id: resource_id }: TemplateRef,
  after: { channel: Channel; provider_id: string; player_id: string | null },
): Promise<void> {
  await postgres.asTenant(tenant_id, (tx) =>
    audit(tx, { tenant_id, project_id, resource_id, before: null, after }),
  );
}

const CODES = {
  rejected: 'PROVIDER_REJECTED',
  retry: 'PROVIDER_UNAVAILABLE',
  unknown: 'OUTCOME_UNKNOWN',
} as const satisfies Record<Exclude<SendOutcome['kind'], 'sent'>, FailureCode>;

/**
 * The gate without caps and quiet hours, after the fold has reached everything that was accepted up to now, and what is kept
 * of erased people who had the address. Without a player it asks for the address alone.
 */
async function verdictOn(
  deps: SendTestDeps,
  ref: TemplateRef,
  template: TemplateRow,
  player: ScopePlayer | undefined,
  recipient: string,
): Promise<SkipCode | null> {
  const { postgres, clock } = deps;
  await waitUntilFolded(deps, FENCE_WAIT_MS).catch((cause: unknown) => {
    if (!(cause instanceof NotCaughtUp)) throw cause;
    throw new ApiError('SERVICE_UNAVAILABLE', cause.message, { retry_after_s: RETRY_AFTER_S, cause });
  });
  const now = new Date(clock.now_ms());
  const { channel } = template;
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const of_erased = await codesOfErased(tx, deps.erasure_key, ref, { channel, address: recipient }, now);
    const verdict = await gateVerdict(tx, ref, template, player, recipient, now);
    const codes = new Set(verdict === null ? of_erased : [...of_erased, verdict]);
    return SKIP_CODES.find((code) => codes.has(code)) ?? null;
  });
}

async function gateVerdict(
  tx: Tx,
  ref: TemplateRef,
  template: TemplateRow,
  player: ScopePlayer | undefined,
  recipient: string,
  now: Date,
): Promise<SkipCode | null> {
  const { channel } = template;
  if (player === undefined) {
    const [found] = await selectAddressVerdict(tx, ref.tenant_id, channel, recipient, now);
    return found?.verdict ?? null;
  }
  const rules = withoutTiming(gateRulesOf(await readTenantConfig(tx, ref.tenant_id), channel, now));
  const gate = await gateAt(rules, now, () => Promise.resolve([]));
  const [found] = await selectVerdict(tx, ref, player.player_id, gate, recipient, bonusProductOf(template));
  // No row: the player was merged away a moment ago.
  return found === undefined ? 'SKIPPED_NO_RECIPIENT' : found.verdict;
}

async function chooseProvider(
  postgres: Postgres,
  tenant_id: string,
  channel: Channel,
  provider_id: string | null | undefined,
): Promise<ProviderRow> {
  const named = provider_id ?? null;
  const found = await postgres.asTenant(tenant_id, (tx) => selectProviderFor(tx, tenant_id, channel, named));
  if (named !== null) {
    const wrong = (message: string) => validationError([{ path: 'provider_id', message }]);
    if (found?.deleted_at !== null) throw wrong('must be a messaging provider of this tenant');
    if (found.channel !== channel) throw wrong(`must be a provider for ${channel}, not for ${found.channel}`);
  }
  if (found?.status === 'active') return found;
  throw new ApiError('PROVIDER_NOT_CONFIGURED', `add an active messaging provider for ${channel} first`);
}

/** Hands the message to the provider. `onOpen` runs before, when the secrets are decrypted and the transport is open. */
async function hand(
  deps: SendTestDeps,
  provider: ProviderRow,
  message: Message,
  onOpen: () => Promise<void>,
): Promise<SendOutcome> {
  const { credentials } = provider;
  const secrets = credentials === null ? {} : decryptSecrets(deps.credentials_keys, provider, credentials);
  const transport = openTransport(provider, secrets, deps);
  try {
    await onOpen();
    const outcome = await transport.send(message);
    // The message has gone out, or not: that is the answer, also when this cannot be written.
    await deps.postgres
      .asTenant(provider.tenant_id, (tx) => noteOutcomes(tx, provider, [outcome], deps.clock.now_ms()))
      .catch((err: unknown) => deps.logger.warn({ err }, 'the outcome of a test was not noted'));
    return outcome;
  } finally {
    await transport.close();
  }
}
