import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Field } from '../../ui/field.tsx';
import { Buttons, Form, Row } from '../../ui/form.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import css from './campaigns.module.css';
import { useTemplatesOf, useVariants, type CampaignRecord, type VariantRecord } from './queries.ts';
import { scaledTo, WHOLE, withOneMore } from './weights.ts';

const m = t.campaigns;

interface VariantsProps {
  campaign: CampaignRecord;
  disabled: boolean;
}

/** The variants of a saved campaign, with weights whose sum is 100; what is added or removed is saved at once. */
export function Variants({ campaign, disabled }: VariantsProps) {
  const asked = useVariants(campaign.id);
  return (
    <section className={css['section']} aria-label={m.variants}>
      <h2>{m.variants}</h2>
      <p className={css['soft']}>{m.variantsHint}</p>
      <Answered asked={asked} what={m.variants}>
        {({ data }) => {
          const own = data.filter(({ is_default }) => !is_default);
          return (
            <>
              {own.length === 0 ? null : (
                // What others save is another table.
                <Weights
                  key={own.map(({ id, weight }) => `${id} ${weight}`).join()}
                  campaign={campaign}
                  variants={own}
                  disabled={disabled}
                />
              )}
              {disabled ? null : <AddVariant campaign={campaign} variants={own} />}
            </>
          );
        }}
      </Answered>
    </section>
  );
}

/** Saves weights one after the other, those that differ only. */
function useSaveWeights(campaign: CampaignRecord) {
  const update = useChange('campaigns.variants.update');
  const save = async (variants: readonly VariantRecord[], weights: readonly number[]) => {
    for (const [i, { id, weight }] of variants.entries()) {
      const wanted = weights[i] ?? weight;
      if (wanted !== weight) await update.mutateAsync({ inputs: [campaign.id, id, { weight: wanted }] });
    }
  };
  // What the API refuses is shown by its caller.
  return { save: (...args: Parameters<typeof save>) => save(...args).catch(() => undefined), update };
}

function Weights({ campaign, variants, disabled }: VariantsProps & { variants: readonly VariantRecord[] }) {
  const templates = useTemplatesOf(campaign.channel);
  const remove = useChange('campaigns.variants.delete');
  const { save, update } = useSaveWeights(campaign);
  const [typed, setTyped] = useState(() => variants.map(({ weight }) => String(weight)));
  const nameOf = (id: string | null) => templates.rows?.find((one) => one.id === id)?.name ?? id ?? '—';
  const weights = typed.map((text) => (/^[1-9]\d{0,6}$/.test(text) ? Number(text) : 0));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const is_valid = sum === WHOLE && weights.every((weight) => weight > 0);
  const is_changed = weights.some((weight, i) => weight !== variants[i]?.weight);
  const busy = disabled || remove.isPending || update.isPending;
  const drop = (gone: VariantRecord) => {
    const rest = variants.filter((one) => one !== gone);
    const weights_left = scaledTo(
      WHOLE,
      rest.map(({ weight }) => weight),
    );
    // What is shown then is another table.
    void remove.mutateAsync({ inputs: [campaign.id, gone.id] }).then(
      () => save(rest, weights_left),
      // Shown below.
      () => undefined,
    );
  };
  return (
    <>
      <Table
        label={m.variants}
        head={[m.variantName, m.template, m.weightPercent, '']}
        rows={variants.map((row, i) => ({
          key: row.id,
          cells: [
            <bdi key="name">{row.name}</bdi>,
            <bdi key="template">{nameOf(row.template_id)}</bdi>,
            <input
              key="weight"
              type="number"
              min={1}
              max={WHOLE}
              aria-label={m.weightOf(row.name.slice(0, 40))}
              disabled={busy}
              value={typed[i] ?? ''}
              onChange={({ target }) => setTyped(typed.with(i, target.value))}
            />,
            <Button key="remove" kind="quiet" disabled={busy} onClick={() => drop(row)}>
              {m.removeVariant(row.name.slice(0, 40))}
            </Button>,
          ],
        }))}
      />
      <p role="status">
        <Badge tone={is_valid ? 'good' : 'warn'}>{m.sumOfWeights(sum)}</Badge>
      </p>
      {disabled ? null : (
        <Buttons>
          <Button disabled={busy || !is_valid || !is_changed} onClick={() => void save(variants, weights)}>
            {m.saveWeights}
          </Button>
          <Button
            disabled={busy}
            onClick={() =>
              setTyped(
                scaledTo(
                  WHOLE,
                  variants.map(() => 1),
                ).map(String),
              )
            }
          >
            {m.equalWeights}
          </Button>
        </Buttons>
      )}
      {remove.error === null ? null : <Failed error={remove.error} />}
      {update.error === null ? null : <Failed error={update.error} />}
    </>
  );
}

function AddVariant({
  campaign,
  variants,
}: {
  campaign: CampaignRecord;
  variants: readonly VariantRecord[];
}) {
  const [name, setName] = useState('');
  const [template_id, setTemplate] = useState<string | null>(null);
  const templates = useTemplatesOf(campaign.channel);
  const add = useChange('campaigns.variants.create');
  const { save, update } = useSaveWeights(campaign);
  const submit = () => {
    if (template_id === null) return;
    const { others, added } = withOneMore(variants.map(({ weight }) => weight));
    add.mutate(
      { inputs: [campaign.id, { name, template_id, weight: added }] },
      {
        onSuccess: () => {
          // The next name may have been begun while everything was asked again.
          setName((typed) => (typed === name ? '' : typed));
          void save(variants, others);
        },
      },
    );
  };
  return (
    <Form>
      <Row>
        <Field label={m.variantName}>
          {(control) => (
            <input
              {...control}
              dir="auto"
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        <Choice
          label={m.template}
          pages={templates}
          value={template_id}
          none={m.noTemplate}
          keyOf={({ id }) => id}
          nameOf={(row) => row.name}
          onChange={setTemplate}
        />
        <Button onClick={submit} disabled={add.isPending || name.trim() === '' || template_id === null}>
          {m.addVariant}
        </Button>
      </Row>
      {add.error === null ? null : <Failed error={add.error} />}
      {update.error === null ? null : <Failed error={update.error} />}
    </Form>
  );
}
