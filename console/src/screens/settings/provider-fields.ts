import type { FieldSpec } from '../../format/record-texts.ts';

/** A field of the settings of a provider. A secret is written and never read. */
export interface ProviderField extends FieldSpec {
  is_secret?: boolean;
}

const BASE_URL: ProviderField = { path: 'config.base_url', kind: 'text' };
const FROM: ProviderField = { path: 'config.from', kind: 'text' };

/** The settings of each kind; other kinds have none that the form knows. */
const CONFIGS: Readonly<Record<string, readonly ProviderField[]>> = {
  smtp: [
    FROM,
    { path: 'config.host', kind: 'text' },
    { path: 'config.port', kind: 'int' },
    { path: 'config.secure', kind: 'flag' },
    { path: 'config.require_tls', kind: 'flag' },
    { path: 'config.username', kind: 'text' },
    { path: 'config.password', kind: 'text', is_secret: true },
  ],
  sendgrid: [
    FROM,
    { path: 'config.api_key', kind: 'text', is_secret: true },
    { path: 'config.webhook_public_key', kind: 'text' },
    BASE_URL,
  ],
  twilio: [
    FROM,
    { path: 'config.account_sid', kind: 'text' },
    { path: 'config.auth_token', kind: 'text', is_secret: true },
    BASE_URL,
  ],
  fcm: [{ path: 'config.service_account', kind: 'text', is_secret: true }, BASE_URL],
};

/** The fields of a provider of the kind that can be changed. */
export function providerFields(kind: string): readonly ProviderField[] {
  return [{ path: 'name', kind: 'text' }, { path: 'rate_per_second', kind: 'int' }, ...(CONFIGS[kind] ?? [])];
}
