import { formatMoney, parseMoney, type Currency } from '../format/money.ts';
import { t } from '../messages/t.ts';
import { Input, type RecordForm } from './record-field.tsx';

interface MoneyInputProps {
  form: RecordForm;
  path: string;
  /** What the amount is; the label adds the currency. */
  name: string;
  hint?: string | undefined;
  /** Undefined: not known yet. */
  currency: Currency | undefined;
}

/** An amount in whole units of the currency; how it is understood is said below it. */
export function MoneyInput({ form, path, name, hint, currency }: MoneyInputProps) {
  const text = form.texts[path] ?? '';
  const amount = currency === undefined || text === '' ? undefined : parseMoney(text, currency.scale);
  return (
    <Input
      form={form}
      path={path}
      label={t.form.money(name, currency?.code ?? '')}
      hint={amount === undefined || currency === undefined ? hint : `= ${formatMoney(amount, currency)}`}
      mode="decimal"
      max={60}
    />
  );
}
