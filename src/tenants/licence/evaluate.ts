import type { Fault, Question } from './facts.ts';
import { playerFault, tierFault } from './player-rules.ts';
import type { LicenceRule, RuleSeverity } from './rule.ts';
import { termsFault } from './terms-rules.ts';

/** A rule that is broken. */
export interface Violation {
  rule_id: string;
  severity: Exclude<RuleSeverity, 'info'>;
  message: string;
  /** The trait whose value is not known, where that alone breaks the rule. */
  missing_trait?: string;
}

/**
 * The rules that are broken, of those of `effectiveRules` that apply here. What is not known breaks the enforced rules
 * of a licence (they fail closed), and no other: rules for all, and warnings, need something known.
 */
export function violations(rules: readonly LicenceRule[], question: Question): Violation[] {
  return rules.flatMap((rule) => {
    if (rule.severity === 'info' || !rule.applies_to.includes(question.at)) return [];
    const fault = faultOf(rule, question);
    if (fault === undefined) return [];
    const found = { rule_id: rule.id, severity: rule.severity };
    if (typeof fault === 'string') return [{ ...found, message: `${rule.summary}: ${fault}` }];
    if (rule.jurisdiction === 'all' || rule.severity !== 'enforce') return [];
    const what = fault.message ?? `${fault.missing} of the player is not known`;
    return [{ ...found, message: `${rule.summary}: ${what}`, missing_trait: fault.missing }];
  });
}

function faultOf(rule: LicenceRule, question: Question): Fault {
  const { at, facts, now } = question;
  switch (at) {
    case 'template':
      return termsFault(rule, { terms: facts });
    case 'campaign':
      return termsFault(rule, facts);
    case 'grant':
      return termsFault(rule, facts) ?? playerFault(rule, facts.player, now);
    case 'message':
      return playerFault(rule, facts.player, now, facts);
    case 'tier':
      return tierFault(rule, facts);
  }
}
