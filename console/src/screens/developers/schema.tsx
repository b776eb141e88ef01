import { useState } from 'react';
import { rulesOf, schemaOf, typeOf, type ApiDocument, type Schema } from '../../api/document-shapes.ts';
import { t } from '../../messages/t.ts';
import css from './developers.module.css';

const m = t.developers;

interface SchemaProps {
  document: ApiDocument;
  schema: Schema;
}

/** What a schema consists of. Parts that have parts of their own open on a click, so that schemas may refer to themselves. */
export function SchemaView({ document, schema }: SchemaProps) {
  const whole = schemaOf(document, schema);
  const { properties = {}, required = [], items, additionalProperties } = whole;
  const several = whole.anyOf ?? whole.oneOf ?? whole.allOf ?? [];
  const parts = [
    ...Object.entries(properties).map(([name, part]) => ({
      name,
      part,
      is_required: required.includes(name),
    })),
    ...(items === undefined ? [] : [{ name: m.eachItem, part: items, is_required: false }]),
    ...(typeof additionalProperties === 'object'
      ? [{ name: m.anyName, part: additionalProperties, is_required: false }]
      : []),
    ...several.map((part, i) => ({ name: m.alternative(i + 1), part, is_required: false })),
  ];
  return (
    <>
      {whole.description === undefined ? null : <p className={css['soft']}>{whole.description}</p>}
      {parts.length === 0 ? (
        <p>
          <code>{typeOf(schema)}</code> {rulesOf(whole)}
        </p>
      ) : (
        <ul className={css['fields']}>
          {parts.map((one) => (
            <Part key={one.name} document={document} {...one} />
          ))}
        </ul>
      )}
    </>
  );
}

function Part({
  document,
  name,
  part,
  is_required,
}: {
  document: ApiDocument;
  name: string;
  part: Schema;
  is_required: boolean;
}) {
  const [is_open, setOpen] = useState(false);
  const has_parts =
    part.$ref !== undefined ||
    part.properties !== undefined ||
    part.items !== undefined ||
    [part.anyOf, part.oneOf, part.allOf].some((several) => several !== undefined) ||
    typeof part.additionalProperties === 'object';
  const line = (
    <>
      <code>
        <strong>{name}</strong>
      </code>{' '}
      <code>{typeOf(part)}</code> {is_required ? m.required : null} {rulesOf(part)}{' '}
      <span className={css['soft']}>{part.description}</span>
    </>
  );
  if (!has_parts) return <li>{line}</li>;
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{line}</summary>
        {is_open ? <SchemaView document={document} schema={part} /> : null}
      </details>
    </li>
  );
}
