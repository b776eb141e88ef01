import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useApiDocument } from '../../api/document.ts';
import { eventsOf, rulesOf, typeOf, type EventShape } from '../../api/document-shapes.ts';
import { t } from '../../messages/t.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Grid, type Column } from '../../ui/grid.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';

const route = getRouteApi('/developers');
const m = t.developers;

/** The events that the service takes, with the properties that it reads. Further properties are free. */
export function Catalogue() {
  const { q = '', op } = route.useSearch();
  const navigate = useNavigate({ from: '/developers' });
  const document = useApiDocument();
  const show = (name: 'q' | 'op', value: string | undefined, replace = false) =>
    void navigate({ search: (before) => ({ ...before, [name]: value === '' ? undefined : value }), replace });
  const columns: Column<EventShape>[] = [
    { key: 'name', title: m.event, width: 'minmax(220px, 1fr)', cell: ({ name }) => <code>{name}</code> },
    {
      key: 'required',
      title: m.requiredProperties,
      width: 'minmax(260px, 2fr)',
      cell: ({ required }) => (required.length === 0 ? '—' : <code>{required.join(', ')}</code>),
    },
    {
      key: 'optional',
      title: m.optionalProperties,
      width: 'minmax(160px, 1fr)',
      cell: ({ properties, required }) => {
        const optional = Object.keys(properties).filter((name) => !required.includes(name));
        return optional.length === 0 ? '—' : <code>{optional.join(', ')}</code>;
      },
    },
  ];
  return (
    <>
      <search>
        <Field label={m.searchEvents}>
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
      <Answered asked={document} what={m.tabs.events}>
        {(found) => {
          const all = eventsOf(found);
          const rows = all.filter(({ name }) => name.includes(q.trim().toLowerCase()));
          const opened = all.find(({ name }) => name === op);
          return (
            <>
              {rows.length === 0 ? (
                <Empty title={m.noEvent} />
              ) : (
                <Grid
                  label={m.tabs.events}
                  rows={rows}
                  columns={columns}
                  keyOf={({ name }) => name}
                  onOpen={({ name }) => show('op', name)}
                />
              )}
              {opened === undefined ? null : <Shape of={opened} onClose={() => show('op', undefined)} />}
            </>
          );
        }}
      </Answered>
    </>
  );
}

function Shape({ of: { name, properties, required }, onClose }: { of: EventShape; onClose: () => void }) {
  const fields = Object.entries(properties);
  return (
    <Dialog title={name} as="drawer" onClose={onClose}>
      <p>{m.freeProperties}</p>
      {fields.length === 0 ? null : (
        <Table
          label={m.properties}
          head={[m.name, m.type, m.about]}
          rows={fields.map(([field, schema]) => ({
            key: field,
            cells: [
              <code key="name">{field}</code>,
              <code key="type">{typeOf(schema)}</code>,
              [required.includes(field) ? m.required : '', rulesOf(schema)].filter(Boolean).join(', '),
            ],
          }))}
        />
      )}
    </Dialog>
  );
}
