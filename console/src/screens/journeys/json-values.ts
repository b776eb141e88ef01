import { parseExactly, writeExactly } from '../../api/json.ts';

/** Texts that stand for something else than themselves. */
const JSON_TEXT = /^(?:true|false|null|-?\d+(?:\.\d+)?|".*"|\[.*\]|\{.*\})$/s;

/** A value from a field: numbers, true, false and JSON as such, everything else as the text that it is. */
export function valueOf(text: string): unknown {
  if (!JSON_TEXT.test(text)) return text;
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** A value as a field shows it; a text that would be read as something else is in quotes. */
export function valueText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' && valueOf(value) === value ? value : writeExactly(value);
}

/** A list from a field, with commas between the values. A comma inside of a value needs the whole list as JSON. */
export function listOfText(text: string): unknown[] {
  const whole = valueOf(text);
  if (Array.isArray(whole)) return whole;
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
    .map(valueOf);
}

export function textOfList(value: unknown): string {
  if (!Array.isArray(value)) return valueText(value);
  const text = value.map(valueText).join(', ');
  return writeExactly(listOfText(text)) === writeExactly(value) ? text : writeExactly(value);
}
