import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useCatalogue, useMoney } from '../../api/currencies.ts';
import type { ApiError } from '@player-engagement/client/admin';
import { newActionKey, useChange } from '../../api/queries.ts';
import { parseMoney } from '../../format/money.ts';
import { wireAmount } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Form } from '../../ui/form.tsx';
import { MoneyInput } from '../../ui/money-input.tsx';
import { PlayerChoice, usePlayerName } from '../../ui/player-choice.tsx';
import { Failed } from '../../ui/states.tsx';
import { configCurrency, largestBonus, needsDeposit, useTemplateChoice } from './queries.ts';

const m = t.bonuses.grant.make;

interface Chosen {
  template: string | undefined;
  player: string | undefined;
  deposit: string;
  /** Of this choice: another choice is another action. */
  key: string;
}

interface MakeGrantProps {
  player: string | undefined;
  template: string | undefined;
  onClose: () => void;
}

/** Grants one bonus by hand; says in words why the API refuses. */
export function MakeGrant({ player, template, onClose }: MakeGrantProps) {
  const [chosen, setChosen] = useState<Chosen>(() => ({
    template,
    player,
    deposit: '',
    key: newActionKey(),
  }));
  const templates = useTemplateChoice();
  const make = useChange('bonusGrants.create');
  const navigate = useNavigate();
  const money = useMoney();
  const of = templates.rows?.find(({ id }) => id === chosen.template);
  const currency = useCatalogue().data?.data.find(
    ({ code }) => of !== undefined && code === configCurrency(of),
  );
  const with_deposit = of !== undefined && needsDeposit(of.type);
  const deposit = currency === undefined ? undefined : parseMoney(chosen.deposit, currency.scale);
  const name = usePlayerName(chosen.player);
  const choose = (change: Partial<Chosen>) => {
    make.reset();
    setChosen((before) => ({ ...before, ...change, key: newActionKey() }));
  };
  const is_complete =
    of !== undefined && chosen.player !== undefined && (!with_deposit || (deposit ?? 0n) > 0n);
  const submit = () => {
    if (chosen.template === undefined || chosen.player === undefined) return;
    const body = {
      template_id: chosen.template,
      player_id: chosen.player,
      deposit_amount: with_deposit && deposit !== undefined ? wireAmount(deposit) : null,
    };
    make.mutate(
      { inputs: [body], idempotency_key: chosen.key },
      { onSuccess: ({ data }) => void navigate({ to: '/bonuses/grants/$id', params: { id: data.id } }) },
    );
  };
  return (
    <Dialog
      title={m.title}
      onClose={onClose}
      mayClose={() => !make.isPending}
      actions={
        <>
          <Button onClick={onClose} disabled={make.isPending}>
            {t.confirm.cancel}
          </Button>
          <Button kind="primary" onClick={submit} disabled={!is_complete || make.isPending}>
            {make.isPending ? t.confirm.busy : m.verb}
          </Button>
        </>
      }
    >
      <Form disabled={make.isPending}>
        <Choice
          label={m.template}
          pages={templates}
          value={chosen.template ?? null}
          none={m.noTemplate}
          keyOf={({ id }) => id}
          nameOf={(row) => row.name}
          onChange={(id) => choose({ template: id ?? undefined })}
        />
        <PlayerChoice label={m.player} value={chosen.player} onChoose={(id) => choose({ player: id })} />
        {with_deposit ? (
          <MoneyInput
            form={{
              texts: { deposit_amount: chosen.deposit },
              issues: [],
              change: (next) => choose({ deposit: next['deposit_amount'] ?? '' }),
            }}
            path="deposit_amount"
            currency={currency}
            name={m.depositAmount}
            hint={m.depositHint}
          />
        ) : null}
        {of === undefined || name === undefined ? null : (
          <p>{m.effect(name.slice(0, 100), money.of(largestBonus(of), configCurrency(of)))}</p>
        )}
      </Form>
      {make.error === null ? null : <Refusal error={make.error} />}
    </Dialog>
  );
}

/** Why a bonus was not granted: in words where they are known, and as the API says it. */
function Refusal({ error }: { error: ApiError }) {
  const { reason, grant_id } = error.details;
  const words = t.bonuses.refusals[String(reason)] ?? t.bonuses.refusals[error.code];
  return (
    <>
      {words === undefined ? null : (
        <p>
          <Badge tone="bad">{t.bonuses.refused}</Badge> {words}
        </p>
      )}
      <Failed error={error} />
      {error.code === 'ADAPTER_UNAVAILABLE' && typeof grant_id === 'string' ? (
        <Link to="/bonuses/grants/$id" params={{ id: grant_id }}>
          {m.queued}
        </Link>
      ) : null}
    </>
  );
}
