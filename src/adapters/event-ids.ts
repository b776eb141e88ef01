import { v5 } from 'uuid';

/**
 * The id of the event that is published because of a platform's event: UUID v5 of the adapter's slug in the namespace
 * `event_id` (bonuses part 10), the same for each repeat. `event_id` is 32 hexadecimal digits in the form of a UUID, in
 * either case. Its bytes are the namespace, because ids of platforms need no version of RFC 9562, which `v5` demands of a
 * namespace that is a text.
 */
export function idOfPublished(slug: string, event_id: string): string {
  return v5(slug, Buffer.from(event_id.replaceAll('-', ''), 'hex'));
}
