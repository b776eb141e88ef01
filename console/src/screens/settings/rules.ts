import { t } from '../../messages/t.ts';
import type { LicenceRule, RuleOverride } from './queries.ts';

const m = t.settings;

/** A field of what the operator changes of a rule: `rule.<id of the rule>.severity`, or the name of a number. */
export type RuleField = `rule.${string}`;
export type RuleTexts = Readonly<Record<RuleField, string>>;

/** The field of a rule. */
export function ruleField(id: string, name: string): RuleField {
  return `rule.${id}.${name}`;
}

export function isRuleField(field: string): field is RuleField {
  return field.startsWith('rule.');
}

/** Rule and field as the review names them. */
export function ruleLabel(field: RuleField, rules: readonly LicenceRule[]): string {
  const [, id = '', name = ''] = field.split('.');
  return m.ruleField(rules.find((rule) => rule.id === id)?.summary ?? id, fieldLabel(name));
}

/** A field of a rule, as the form names it. */
export function fieldLabel(name: string): string {
  return m.ruleFields[name] ?? name;
}

/** The numbers of a rule: these can be made stricter. */
export function numbersOf({ params }: LicenceRule): [name: string, value: number][] {
  return Object.entries(params).filter((one): one is [string, number] => typeof one[1] === 'number');
}

/** The rules that a form shows: those of the licence, those for all, and those that are changed already. */
export function rulesFor(
  licence: string,
  rules: readonly LicenceRule[],
  texts: RuleTexts,
): readonly LicenceRule[] {
  return rules.filter(
    (rule) =>
      rule.jurisdiction === 'all' ||
      rule.licenses.some((one) => one === licence) ||
      namesOf(rule).some((name) => texts[ruleField(rule.id, name)] !== ''),
  );
}

/** What is changed of the rules as texts; empty: as the rule says. */
export function rulesOf(
  overrides: Readonly<Record<string, RuleOverride>>,
  rules: readonly LicenceRule[],
): RuleTexts {
  return Object.fromEntries(
    rules.flatMap((rule) => {
      const { severity = '', reason = '', params = {} } = overrides[rule.id] ?? {};
      const texts: Readonly<Record<string, string>> = {
        ...Object.fromEntries(numbersOf(rule).map(([name]) => [name, String(params[name] ?? '')])),
        severity,
        reason,
      };
      return namesOf(rule).map((name) => [ruleField(rule.id, name), texts[name] ?? '']);
    }),
  );
}

function namesOf(rule: LicenceRule): string[] {
  return ['severity', 'reason', ...numbersOf(rule).map(([name]) => name)];
}

/** The merge patch of the rules whose fields were changed; a rule without any text in the form is as it was written. */
export function rulesPatch(
  changes: Readonly<Record<string, unknown>>,
  draft: RuleTexts,
): Record<string, unknown> {
  const patch: Record<string, Record<string, unknown> | null> = {};
  for (const field of Object.keys(changes).filter(isRuleField)) {
    const [, id = '', name = ''] = field.split('.');
    const text = draft[field]?.trim() ?? '';
    const rule = (patch[id] ??= {});
    if (name === 'severity' || name === 'reason') rule[name] = text === '' ? null : text;
    else {
      rule['params'] = {
        ...(rule['params'] as object | undefined),
        [name]: text === '' ? null : Number(text),
      };
    }
  }
  for (const id of Object.keys(patch)) {
    const texts = Object.entries(draft).filter(([field]) => field.startsWith(`rule.${id}.`));
    if (texts.every(([, text]) => text === '')) patch[id] = null;
  }
  return patch;
}
