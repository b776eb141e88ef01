import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useApiDocument } from '../../api/document.ts';
import {
  isFound,
  operationsOf,
  rulesOf,
  typeOf,
  type ApiDocument,
  type Operation,
} from '../../api/document-shapes.ts';
import { t } from '../../messages/t.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Grid, type Column } from '../../ui/grid.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { Block } from './block.tsx';
import css from './developers.module.css';
import { SchemaView } from './schema.tsx';

const route = getRouteApi('/developers');
const m = t.developers;

/** The reference of the API, from the service's own OpenAPI document. */
export function Reference() {
  const { q = '', op } = route.useSearch();
  const navigate = useNavigate({ from: '/developers' });
  const document = useApiDocument();
  const show = (name: 'q' | 'op', value: string | undefined, replace = false) =>
    void navigate({ search: (before) => ({ ...before, [name]: value === '' ? undefined : value }), replace });
  const columns: Column<Operation>[] = [
    { key: 'method', title: m.method, width: '90px', cell: ({ method }) => <code>{method}</code> },
    { key: 'path', title: m.path, width: 'minmax(260px, 2fr)', cell: ({ path }) => <code>{path}</code> },
    { key: 'summary', title: m.summary, width: 'minmax(260px, 3fr)', cell: ({ summary }) => summary },
  ];
  return (
    <>
      <search>
        <Field label={m.searchReference}>
          {(control) => (
            <input
              {...control}
              type="search"
              maxLength={200}
              value={q}
              onChange={({ target }) => show('q', target.value, true)}
            />
          )}
        </Field>
      </search>
      <Answered asked={document} what={m.tabs.reference}>
        {(found) => {
          const all = operationsOf(found);
          const rows = all.filter((one) => isFound(one, q));
          const opened = all.find(({ id }) => id === op);
          return (
            <>
              {rows.length === 0 ? (
                <Empty title={m.noOperation} />
              ) : (
                <Grid
                  label={m.tabs.reference}
                  rows={rows}
                  columns={columns}
                  keyOf={({ id }) => id}
                  onOpen={({ id }) => show('op', id)}
                />
              )}
              {opened === undefined ? null : (
                <Details document={found} operation={opened} onClose={() => show('op', undefined)} />
              )}
            </>
          );
        }}
      </Answered>
    </>
  );
}

function Details({
  document,
  operation,
  onClose,
}: {
  document: ApiDocument;
  operation: Operation;
  onClose: () => void;
}) {
  const { method, path, summary, access, parameters, body, responses, ingest_url } = operation;
  return (
    <Dialog title={`${method} ${path}`} as="drawer" onClose={onClose}>
      <div className={css['parts']}>
        <p>{summary}</p>
        <p className={css['soft']}>{access}</p>
        <Block label={m.address} text={`${method} ${ingest_url ?? location.origin}${path}`} />
        {parameters.length === 0 ? null : (
          <section>
            <h3>{m.parameters}</h3>
            <Table
              label={m.parameters}
              head={[m.name, m.place, m.type, m.about]}
              rows={parameters.map(({ name, in: place, required, schema = {}, description }) => ({
                key: `${place} ${name}`,
                cells: [
                  <code key="name">{name}</code>,
                  `${place}${required === true ? `, ${m.required}` : ''}`,
                  <code key="type">{typeOf(schema)}</code>,
                  [description ?? schema.description, rulesOf(schema)].filter(Boolean).join('; '),
                ],
              }))}
            />
          </section>
        )}
        {body === undefined ? null : (
          <section>
            <h3>{m.body}</h3>
            <SchemaView document={document} schema={body} />
          </section>
        )}
        <section>
          <h3>{m.answers}</h3>
          {responses.map(({ status, description, schema }) => (
            <details key={status} open={status.startsWith('2')}>
              <summary>
                <code>{status}</code> {status.startsWith('2') ? m.success : m.errors}
              </summary>
              {status.startsWith('2') && schema !== undefined ? (
                <SchemaView document={document} schema={schema} />
              ) : (
                <p className={css['wrapped']}>{description.replaceAll('; ', '\n')}</p>
              )}
            </details>
          ))}
        </section>
      </div>
    </Dialog>
  );
}
