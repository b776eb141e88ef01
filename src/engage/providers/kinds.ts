import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { trimmedText } from '../../http/field-schemas.ts';
import { CHANNELS, type Channel } from '../../tenants/config/channels.ts';
import { trimEnd } from '../../platform/trim-end.ts';

export const PROVIDER_KINDS = ['smtp', 'sendgrid', 'twilio', 'fcm', 'sandbox'] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** The channels that each kind can send on. */
export const CHANNELS_OF: Readonly<Record<ProviderKind, readonly Channel[]>> = {
  smtp: ['email'],
  sendgrid: ['email'],
  twilio: ['sms'],
  fcm: ['push'],
  sandbox: CHANNELS,
};

const secret = z
  .string()
  .min(1)
  .max(4_096)
  .regex(/^[^\r\n]+$/, 'must be one line');
const sender = z
  .string()
  .trim()
  .max(320)
  .regex(
    /^(?:[^\s@<>]+@[^\s@<>]+|[^\p{Cc}<>]*<[^\s@<>]+@[^\s@<>]+>)$/u,
    'must be an address, or Name <address>',
  );
const plain_url = z
  .url({ protocol: /^https?$/ })
  .max(500)
  .refine((url) => !/[?#@]/.test(url), 'must have no query and no credentials');
const base_url = plain_url.transform((url) => trimEnd(url, '/'));
const path_segment = (pattern: RegExp, says: string) => z.string().trim().max(200).regex(pattern, says);

const serviceAccount = z.looseObject({
  project_id: path_segment(/^[a-z0-9:.-]+$/i, 'must be a project id'),
  client_email: z
    .string()
    .max(320)
    .regex(/^[^\s@]+@[^\s@]+$/, 'must be an email address'),
  private_key: z.string().max(16_384).refine(isPrivateKey, 'must be a private key in PEM'),
  private_key_id: z.string().max(200).optional(),
  token_uri: plain_url.default('https://oauth2.googleapis.com/token'),
});

const SMTP = z.strictObject({
  host: path_segment(/^[a-z0-9.:_-]+$/i, 'must be a host name'),
  port: z.int().min(1).max(65_535),
  secure: z.boolean().optional(),
  require_tls: z.boolean().optional(),
  username: z.string().min(1).max(320).optional(),
  password: secret.optional(),
  from: sender,
});
const SENDGRID = z.strictObject({
  api_key: secret,
  from: sender,
  webhook_public_key: z.string().trim().min(1).max(1_000).optional(),
  base_url: base_url.optional(),
});
const TWILIO = z.strictObject({
  account_sid: path_segment(/^[a-z0-9]+$/i, 'must be an account SID'),
  auth_token: secret,
  from: trimmedText(2, 40),
  base_url: base_url.optional(),
});
const FCM = z.strictObject({
  // The JSON file that the Firebase console gives, as its text or as the parsed object.
  service_account: z.preprocess(parsedIfText, serviceAccount),
  base_url: base_url.optional(),
});
const SANDBOX = z.strictObject({});

/** The schema of `config` for each kind, secrets included. */
export const CONFIG_OF = { smtp: SMTP, sendgrid: SENDGRID, twilio: TWILIO, fcm: FCM, sandbox: SANDBOX };
export type SmtpConfig = z.infer<typeof SMTP>;
export type SendgridConfig = z.infer<typeof SENDGRID>;
export type TwilioConfig = z.infer<typeof TWILIO>;
export type FcmConfig = z.infer<typeof FCM>;

type Field = { [Kind in ProviderKind]: keyof (typeof CONFIG_OF)[Kind]['shape'] }[ProviderKind];

/** Whether a field is encrypted and never returned: the compiler asks for every field of every kind. */
const IS_SECRET: Readonly<Record<Field, boolean>> = {
  account_sid: false,
  api_key: true,
  auth_token: true,
  base_url: false,
  from: false,
  host: false,
  password: true,
  port: false,
  require_tls: false,
  secure: false,
  service_account: true,
  username: false,
  webhook_public_key: false,
};
const isSecret = (field: string) => (IS_SECRET as Readonly<Record<string, boolean>>)[field] !== false;

type Fields = Record<string, unknown>;

/** The encrypted fields that a config of the kind can have. */
export function secretFieldsOf(kind: ProviderKind): string[] {
  return Object.keys(CONFIG_OF[kind].shape).filter(isSecret);
}

/** A config's fields that may be shown, and those that are encrypted. */
export interface SplitConfig {
  shown: Fields;
  secrets: Fields;
}

/** Splits a checked config into the fields that may be shown and those to encrypt. */
export function splitConfig(config: Fields): SplitConfig {
  const entries = Object.entries(config);
  return {
    shown: Object.fromEntries(entries.filter(([name]) => !isSecret(name))),
    secrets: Object.fromEntries(entries.filter(([name]) => isSecret(name))),
  };
}

/** A stored config with changes applied, not checked yet; null removes a field. */
export function mergeConfig(shown: Fields, secrets: Fields, changes: Fields): Fields {
  const merged = { ...shown, ...secrets, ...changes };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
}

function parsedIfText(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}
