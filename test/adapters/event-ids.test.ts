import { randomUUID } from 'node:crypto';
import { v5 } from 'uuid';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { idOfPublished } from '../../src/adapters/inbound.ts';

it('the id of a published event is UUID v5 of the slug in the namespace of the platform’s event', () => {
  const event_id = randomUUID();
  expect(idOfPublished('casino-one', event_id)).toBe(v5('casino-one', event_id));
  expect(idOfPublished('casino-one', event_id.toUpperCase())).toBe(v5('casino-one', event_id));
  expect(idOfPublished('casino-two', event_id)).not.toBe(idOfPublished('casino-one', event_id));
});

it('every event_id that a webhook may have gives one of its own, whatever its version and variant', () => {
  const digits = Array.from({ length: 16 }, (_, digit) => digit.toString(16));
  const ids = digits.flatMap((version) =>
    digits.map((variant) => `a4a4e5c3-9c5e-${version}a11-${variant}ce7-000000000001`),
  );
  for (const id of ids) expect(z.guid().safeParse(id).success, id).toBe(true);
  const published = ids.map((id) => idOfPublished('casino-one', id));
  expect(new Set(published).size).toBe(256);
  for (const id of published) expect(z.uuid().safeParse(id).success, id).toBe(true);
});
