import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ERASING_ROLES, ROLES } from '../../src/config.ts';
import { readOrCreateSecret } from '../../src/http/auth/secret-file.ts';
import { loadErasureKey } from '../../src/protection/exclusions/erasure-key.ts';

let data_dir: string;
beforeAll(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'erasure-key-'));
});
afterAll(() => rm(data_dir, { recursive: true }));

it('a role that is given no key of the hashes makes up none, with which it would recognise nobody', async () => {
  for (const role of ROLES.filter((one) => !ERASING_ROLES.includes(one))) {
    const load = loadErasureKey({ erasure_key: undefined, data_dir, roles: new Set([role]) });
    await expect(load, role).rejects.toThrow('no role of this process is one of ERASING_ROLES');
  }
  expect(await readdir(data_dir)).toEqual([]);
  const keys = await Promise.all(
    ERASING_ROLES.map((role) => loadErasureKey({ erasure_key: undefined, data_dir, roles: new Set([role]) })),
  );
  expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1);
});

it('many who ask at once get one key', async () => {
  const path = join(data_dir, 'asked-at-once');
  // They come to the point of writing one after the other, while others write, link and clean up.
  const make = async (i: number) => {
    for (let turn = 0; turn < i; turn++) await readdir(data_dir);
    return `secret ${i}`;
  };
  const asked = Array.from({ length: 50 }, (_, i) => readOrCreateSecret(path, () => make(i)));
  expect(new Set(await Promise.all(asked)).size).toBe(1);
});
