/** What the value on the left of a comparison is. */
export type Kind = 'text' | 'number' | 'date' | 'json';

/** What an operator is compared with. */
export type Shape = 'none' | 'scalar' | 'list' | 'number' | 'text' | 'range' | 'moment' | 'span';

/** Something that can be compared; `unit` is `base_subunit` for money. */
export interface Word {
  name: string;
  kind: Kind;
  unit: string | null;
  /** All allowed values; null: any. */
  values: readonly string[] | null;
  operators: readonly string[];
}

/** `GET /v1/segments/fields`: everything that a definition may say. The builder is made of it. */
export interface Vocabulary {
  condition_types: readonly string[];
  fields: readonly (Word & { max_values: number })[];
  custom_attributes: { prefix: string; kind: Kind; operators: readonly string[] };
  operators: readonly { name: string; aliases: readonly string[]; value: Shape }[];
  events: readonly { name: string; group: string; properties: readonly Word[] }[];
  custom_events: { prefix: string; max_length: number };
  aggregates: readonly {
    name: string;
    needs_property: boolean;
    keeps_unit: boolean;
    kind: Kind;
    operators: readonly string[];
  }[];
  channels: readonly string[];
  message_statuses: readonly string[];
  limits: { depth: number; conditions: number; where_clauses: number; min_steps: number; max_steps: number };
}

/** A condition as it is written in a definition. */
export type Written = Readonly<Record<string, unknown>>;

/** The left side of the comparison of a condition on a field of the player; undefined: there is no such field. */
export function fieldWord({ fields, custom_attributes }: Vocabulary, name: unknown): Word | undefined {
  const { prefix } = custom_attributes;
  const known = fields.find((field) => field.name === name);
  if (known !== undefined || typeof name !== 'string' || !name.startsWith(prefix)) return known;
  return { ...custom_attributes, name, unit: null, values: null };
}

/** A property of an event; one that the catalogue does not have may hold anything. */
export function propertyWord(vocabulary: Vocabulary, event: unknown, name: unknown): Word {
  const { properties = [] } = vocabulary.events.find((one) => one.name === event) ?? {};
  const free = { ...vocabulary.custom_attributes, name: String(name), unit: null, values: null };
  const amount = vocabulary.events.flatMap((one) => one.properties).find((one) => one.name === name);
  // Money is money in events of one's own, too.
  return properties.find((one) => one.name === name) ?? (amount?.unit == null ? free : amount);
}

/** What an aggregate over events is compared as. */
export function aggregateWord(vocabulary: Vocabulary, { event, aggregate, property }: Written): Word {
  const found = vocabulary.aggregates.find(({ name }) => name === aggregate);
  const { kind = 'number', operators = [], keeps_unit = false } = found ?? {};
  const unit = keeps_unit ? propertyWord(vocabulary, event, property).unit : null;
  return { name: String(aggregate), kind, operators, unit, values: null };
}

/** The name of an operator for one of its names; undefined: there is none. */
export function operatorOf({ operators }: Vocabulary, written: unknown) {
  return operators.find(
    ({ name, aliases }) => name === written || (typeof written === 'string' && aliases.includes(written)),
  );
}
