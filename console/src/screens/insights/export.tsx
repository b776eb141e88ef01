import { useState } from 'react';
import { oneOf } from '../../api/choices.ts';
import { usePlace } from '../../api/place.tsx';
import { useChange, useKeyOf, useRead } from '../../api/queries.ts';
import { roleAllows } from '../../api/session.ts';
import { formatInt } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Choose } from '../../ui/choose.tsx';
import { Field } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import type { InsightQuery } from './query.ts';

const m = t.insights.exports;
const FORMATS = ['csv', 'parquet'] as const;
const REFRESH_MS = 1_500;

interface ExportProps {
  query: InsightQuery;
  /** Whose players; undefined: the figures. */
  cell?: object | undefined;
  onClose: () => void;
}

/** Makes a file of figures, or of the players of one, and offers it when it is ready. Addresses are for officers, with a reason. */
export function Export({ query, cell, onClose }: ExportProps) {
  const make = useChange('exports.create');
  const may_have_addresses = cell !== undefined && roleAllows(usePlace().role, 'compliance');
  const keyOf = useKeyOf();
  const [format, setFormat] = useState<(typeof FORMATS)[number]>('csv');
  const [reason, setReason] = useState('');
  const id = make.data?.data.id;
  const addresses = reason.trim() === '' ? {} : { contact: ['email' as const, 'phone' as const], reason };
  const of_cell = cell === undefined ? {} : { cell: { ...cell } };
  const body = { query, format, ...of_cell, ...addresses };
  return (
    <Dialog
      title={cell === undefined ? m.title : m.titlePlayers}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t.dialog.close}</Button>
          {id === undefined ? (
            <Button
              kind="primary"
              disabled={make.isPending}
              onClick={() => make.mutate({ inputs: [body], idempotency_key: keyOf(body) })}
            >
              {m.make}
            </Button>
          ) : null}
        </>
      }
    >
      {id === undefined ? (
        <Form disabled={make.isPending}>
          <Choose
            label={m.format}
            options={FORMATS.map((one) => ({ value: one, label: m.formats[one] }))}
            value={format}
            onChange={(chosen) => setFormat(oneOf(FORMATS, chosen) ?? 'csv')}
          />
          {may_have_addresses ? (
            <Field label={m.reason} hint={m.reasonHint}>
              {(control) => (
                <input
                  {...control}
                  value={reason}
                  maxLength={500}
                  onChange={({ target }) => setReason(target.value)}
                />
              )}
            </Field>
          ) : null}
          {make.error === null ? null : <Failed error={make.error} />}
        </Form>
      ) : (
        <File id={id} />
      )}
    </Dialog>
  );
}

function File({ id }: { id: string }) {
  const { tenant_id, project_id } = usePlace();
  const asked = useRead('exports.get', [id], {
    refresh_ms: (made) => (made === undefined || made.status === 'queued' ? REFRESH_MS : 0),
  });
  const place = new URLSearchParams({ tenant_id, project_id });
  return (
    <Answered asked={asked} what={m.title}>
      {({ data: { status, rows, last_error } }) => {
        if (status === 'queued') return <p role="status">{m.queued}</p>;
        if (status === 'failed') return <p role="alert">{m.failed(last_error ?? '')}</p>;
        return (
          <p>
            {/* The name of the file is in the answer. */}
            <a href={`/v1/exports/${id}/file?${place}`} download>
              {m.download(formatInt(rows))}
            </a>
          </p>
        );
      }}
    </Answered>
  );
}
