import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import type { EncryptionKeys } from '../../platform/encryption.ts';
import { reencryptCredentials, type Reencrypt } from './reencrypt.ts';

/** The endpoint for one step of rotating CREDENTIALS_KEY (docs/key-rotation.md). */
export function reencryptEndpoints(deps: {
  postgres: Postgres;
  credentials_keys: EncryptionKeys;
  /** What else is encrypted with the same key. */
  further: readonly Reencrypt[];
}): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/internal/reencrypt-credentials',
      summary:
        'Encrypts with CREDENTIALS_KEY what another key encrypted, so that CREDENTIALS_KEY_PREVIOUS can be removed',
      access: { mode: 'internal' },
      audit: { none: 'what is encrypted stays the same' },
      response: z.object({
        reencrypted: z.int(),
        unreadable: z.int(),
        unreadable_provider_ids: z.array(z.uuid()),
      }),
      handle: async () => {
        const { postgres, credentials_keys, further } = deps;
        return envelope(await reencryptCredentials(postgres.service, credentials_keys, further));
      },
    }),
  ];
}
