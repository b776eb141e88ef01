/**
 * Parts of the names of traits that hold an address, a consent, or the protection of a person. The
 * service reads `email`, `phone`, `telegram_id`, `push_token`, `consent…`, `rg_risk` and `birth_date`; the others are
 * names that tenants give to the same in attributes of their own, which their templates, segments and journeys read.
 */
const GUARDED = new RegExp(
  [
    // Contact.
    'e?mail|phone|mobile|msisdn|telegram|whatsapp|viber|sms|push|fcm|apns|devicetoken|address|contact',
    // Consent.
    'consent|optin|optout|subscri|gdpr|donot',
    // Exclusion, and what decides about it.
    'exclu|cooldown|coolingoff|timeout|banned|blocked|selflimit|rgrisk|^rg|gamstop|kyc|birth|^dob$|^age$',
    // The money of bonuses and templates is shown in it.
    'currency',
  ].join('|'),
);

/**
 * Whether identify with a client key sets the trait only with a proof of the user (docs/decisions/059-client-keys.md): it is
 * a contact, a consent, or protects the player. Case and separators of the name do not count.
 */
export function isGuardedTrait(name: string): boolean {
  return GUARDED.test(
    name
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}]/gu, ''),
  );
}

/**
 * The guarded traits of `names` that are already among the traits `known` of a player without an external_id. All consents
 * are one: an object `consent` and attributes `consent.email` say the same.
 */
export function guardedAndKnown(names: readonly string[], known: readonly string[]): string[] {
  const stored = new Set(known.map(rootOf));
  return names.filter((name) => isGuardedTrait(name) && stored.has(rootOf(name)));
}

function rootOf(name: string): string {
  return name.startsWith('consent') ? 'consent' : name;
}
