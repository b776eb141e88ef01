import { t } from '../../messages/t.ts';
import { Row } from '../../ui/form.tsx';
import { OPERATORS } from './clauses.ts';
import { FIRST_CONDITION, without } from './edit-graph.ts';
import { Any, Chosen, Json, OneOf, Text } from './fields.tsx';
import { isObject, textOf, type Written } from './graph.ts';
import { useSegments, useVocabulary } from './queries.ts';
import { WhereForm } from './where-form.tsx';

const m = t.journeys.edit;
const KINDS = ['trait', 'segment', 'context', 'json'] as const;
type Kind = (typeof KINDS)[number];

/** The form that a condition has; everything that has none is JSON. */
function kindOf(condition: unknown): Kind {
  if (!isObject(condition)) return 'json';
  const keys = Object.keys(condition);
  if (keys.length === 1 && keys[0] === 'where') return 'context';
  const has_only = (...known: string[]) => keys.every((key) => known.includes(key));
  if (condition['type'] === 'trait' && has_only('type', 'field', 'op', 'value')) return 'trait';
  if (condition['type'] === 'segment' && has_only('type', 'op', 'segment_id')) return 'segment';
  return 'json';
}

const FIRST: Readonly<Record<Exclude<Kind, 'json'>, Written>> = {
  trait: FIRST_CONDITION,
  segment: { type: 'segment', op: 'in', segment_id: '' },
  context: { where: [{ property: 'trigger_payload.amount', op: 'gte', value: 0 }] },
};

interface ConditionProps {
  condition: unknown;
  onCondition: (condition: unknown) => void;
}

/** When a branch is taken. */
export function ConditionForm({ condition, onCondition }: ConditionProps) {
  const kind = kindOf(condition);
  return (
    <>
      <OneOf
        label={m.condition}
        value={kind}
        choices={KINDS.map((one) => [one, m.conditions[one]])}
        onChoose={(next) => {
          const wanted = KINDS.find((one) => one === next) ?? 'json';
          // As JSON a group is the shortest way to what the forms cannot say.
          onCondition(wanted === 'json' ? { operator: 'AND', conditions: [condition] } : FIRST[wanted]);
        }}
      />
      {kind === 'trait' && isObject(condition) ? (
        <Trait condition={condition} onCondition={onCondition} />
      ) : kind === 'segment' && isObject(condition) ? (
        <Segment condition={condition} onCondition={onCondition} />
      ) : kind === 'context' && isObject(condition) ? (
        <WhereForm
          label={m.contextWhere}
          where={condition['where']}
          onWhere={(where) => onCondition({ where: where ?? [] })}
        />
      ) : (
        <Json label={m.asJson} hint={m.asJsonHint} value={condition} onValue={onCondition} />
      )}
    </>
  );
}

interface PartProps {
  condition: Written;
  onCondition: (condition: Written) => void;
}

function Trait({ condition, onCondition }: PartProps) {
  const vocabulary = useVocabulary();
  const { field, op, value } = condition;
  const known = vocabulary?.fields.find(({ name }) => name === field);
  const operators = known?.operators ?? vocabulary?.custom_attributes.operators ?? Object.keys(OPERATORS);
  const set = (change: Written) => onCondition(without({ ...condition, ...change }));
  const is_bare = op === 'exists' || op === 'not_exists';
  return (
    <Row>
      <Text
        required
        label={m.field}
        hint={m.fieldHint}
        value={field}
        suggestions={vocabulary?.fields.map(({ name }) => name) ?? []}
        onValue={(next) => set({ field: next })}
      />
      <OneOf
        label={m.comparison}
        value={textOf(op)}
        choices={operators.map((one) => [one, t.journeys.says.comparisons[one] ?? one])}
        onChoose={(next) =>
          set({ op: next, value: next === 'exists' || next === 'not_exists' ? undefined : (value ?? 0) })
        }
      />
      {is_bare ? null : (
        <Any label={m.value} hint={m.valueHint} value={value} onValue={(next) => set({ value: next })} />
      )}
    </Row>
  );
}

function Segment({ condition, onCondition }: PartProps) {
  const { op, segment_id } = condition;
  return (
    <Row>
      <OneOf
        label={m.membership}
        value={textOf(op)}
        choices={[
          ['in', m.memberships.in],
          ['not_in', m.memberships.not_in],
        ]}
        onChoose={(next) => onCondition({ ...condition, op: next })}
      />
      <Chosen
        label={m.segment}
        pages={useSegments()}
        value={segment_id}
        onValue={(id) => onCondition({ ...condition, segment_id: id })}
      />
    </Row>
  );
}
