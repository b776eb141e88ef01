/** What breaks a rule: a sentence, or the name of what is not known. Undefined: nothing. */
export type Fault = string | { missing: string; message?: string } | undefined;
