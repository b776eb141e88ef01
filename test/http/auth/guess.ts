import { randomInt } from 'node:crypto';

/** A key that nobody has, as somebody would make it up. */
export const guess = () =>
  `svc_pk_dev_${randomInt(2 ** 40)
    .toString(36)
    .padStart(8, '0')
    .slice(0, 8)}_${'x'.repeat(44)}`;
