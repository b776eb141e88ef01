import { z } from 'zod';
import { validationError } from '../../errors.ts';
import type { Authenticators } from '../../http/auth/authenticators.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import type { Platform } from '../../platform/platform.ts';
import { projectRefOf, type ProjectRef } from '../../tenants/project-ref.ts';
import { selectErasedIds } from './erased-queries.ts';
import { exportFileBody, exportSize, exportSizeQuery, MAX_FILES } from './schema.ts';
import { ERASED_OF_FILE, readExportFile, readExportSize, type Erased } from './table-queries.ts';

/** What a file should have at most. The embedded engine makes a file in memory. */
const FILE_ROWS = 500_000;
const FILE_BYTES = 256 * 1024 * 1024;

interface Deps extends Pick<Platform, 'postgres' | 'clickhouse'> {
  auth: Authenticators;
}

/** Reads tables of ClickHouse as Parquet files; `npm run export` calls these endpoints. */
export function tableExportEndpoints({ postgres, clickhouse, auth }: Deps): AnyEndpoint[] {
  const access = { mode: 'internal' } as const;
  const path = '/v1/internal/table-export';
  const errors = ['PROJECT_NOT_FOUND', 'SERVICE_UNAVAILABLE', 'VALIDATION_ERROR'] as const;
  const readErased = async <Asked extends ProjectRef>(asked: Asked): Promise<[Asked, Erased]> => {
    const tenant_id = asked.tenant_id.toLowerCase();
    const project_id = await auth.projects.ofTenant(tenant_id, asked.project_id);
    const ref = { tenant_id, project_id };
    const rows = await postgres.readAsTenant(tenant_id, (tx) => selectErasedIds(tx, ref));
    return [{ ...asked, ...ref }, rows.map(({ player_id }) => player_id)];
  };
  return [
    endpoint({
      method: 'GET',
      path,
      summary: 'How many rows an export of a table has, and in how many files they should be read',
      access,
      query: exportSizeQuery,
      response: exportSize,
      errors,
      handle: async ({ query }) => {
        const [range, erased] = await readErased(query);
        const { rows, bytes } = await readExportSize(clickhouse, range, erased);
        const files = Math.max(
          1,
          Math.ceil(rows / FILE_ROWS),
          Math.ceil(bytes / FILE_BYTES),
          Math.ceil(erased.length / ERASED_OF_FILE),
        );
        if (files > MAX_FILES) {
          const message = `the range has ${rows} rows, which need ${files} files: at most ${MAX_FILES}`;
          throw validationError([{ path: 'from', message }]);
        }
        return envelope({ rows, files });
      },
    }),
    endpoint({
      method: 'POST',
      path,
      audit: { resource: 'project', action: 'export' },
      summary: 'Reads rows of a table of ClickHouse as a Parquet file, without players who were erased',
      access,
      body: exportFileBody,
      response: z.string().meta({ format: 'binary' }),
      shape: 'raw',
      content_type: 'application/vnd.apache.parquet',
      errors,
      handle: async ({ body, audit }) => {
        const [asked, erased] = await readErased(body);
        const { table, from, to, file, files } = asked;
        const ref = projectRefOf(asked);
        // Who takes rows of people is on record before the first byte is sent.
        await postgres.asTenant(asked.tenant_id, (tx) =>
          audit(tx, {
            ...ref,
            resource_id: ref.project_id,
            before: null,
            after: { table, from, to, file, files },
          }),
        );
        return readExportFile(clickhouse, asked, erased);
      },
    }),
  ];
}
