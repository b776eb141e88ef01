import { refuseUnwritable } from '../../http/not-writable.ts';
import { patchPlayerBody, playerResource } from './schema.ts';

const WRITABLE = new Set(Object.keys(patchPlayerBody.shape));
const COMPUTED = new Set(Object.keys(playerResource.shape).filter((field) => !WRITABLE.has(field)));

/** Throws FIELD_NOT_WRITABLE with each field in the body that callers may not set on a player (spec part 2). */
export const refuseComputedFields = refuseUnwritable(COMPUTED);
