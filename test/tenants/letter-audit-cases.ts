import { expect } from 'vitest';
import { TOPICS } from '../../src/platform/event-log/topics.ts';
import type { Platform } from '../../src/platform/platform.ts';
import type { Answer } from '../engines/http-client.ts';
import type { Tenant } from '../http/api-fixture.ts';
import type { Expected } from './audit-cases.ts';

type Send = (method: string, path: string, body?: unknown) => Promise<Answer>;

interface Means {
  send: Send;
  internal: Send;
  platform: () => Platform;
  tenant: () => Tenant;
}

/** Replays of dead letters and exports of tables, and what their calls have to leave in the audit log. */
export function letterCases({
  send,
  internal,
  platform,
  tenant,
}: Means): Record<string, () => Promise<Expected>> {
  return {
    'POST /v1/internal/dead-letters/replay': async () => {
      const offsets = ['71', '72', '73', '74'];
      const values = [
        JSON.stringify({ tenant_id: tenant().tenant_id }),
        JSON.stringify({ tenant_id: tenant().tenant_id.toUpperCase() }),
        JSON.stringify({ tenant_id: '018f0000-0000-7000-8000-00000000000b' }),
        'not JSON',
      ];
      const letters = values.map((value, i) => {
        const position = { partition: 0, offset: offsets[i], key: 'k' };
        const letter = { ...position, value, reason: 'MALFORMED_RECORD', message: 'm', at_ms: Date.now() };
        return { key: 'k', value: JSON.stringify(letter) };
      });
      // No fold runs here: after the replay, a test that waits for it would fail.
      await platform().eventLog.append(TOPICS.deadLetters, letters);
      const body = { partition: 0, offsets };
      const answer = await internal('POST', '/v1/internal/dead-letters/replay', body);
      expect(answer.body.data).toMatchObject({ replayed: 4 });
      return { answer, resource_id: tenant().tenant_id, project_id: null, after: { replayed: 2 } };
    },
    'POST /v1/internal/table-export': async () => {
      const { tenant_id, project_id } = tenant();
      const taken = { table: 'segment_members', file: 2, files: 3 };
      const body = { tenant_id, project_id, ...taken };
      const answer = await internal('POST', '/v1/internal/table-export', body);
      return { answer, resource_id: project_id, after: taken };
    },
    'POST /v1/dead-letters/replay': async () => {
      const { tenant_id, project_id } = tenant();
      const value = JSON.stringify({ tenant_id, project_id });
      const position = { partition: 0, offset: '81' };
      const letter = {
        ...position,
        key: 'k',
        value,
        reason: 'MALFORMED_RECORD',
        message: 'm',
        at_ms: Date.now(),
      };
      await platform().eventLog.append(TOPICS.deadLetters, [{ key: 'k', value: JSON.stringify(letter) }]);
      const answer = await send('POST', '/v1/dead-letters/replay', { letters: [position] });
      expect(answer.body.data).toMatchObject({ replayed: 1 });
      return { answer, resource_id: project_id, after: { replayed: 1 } };
    },
  };
}
