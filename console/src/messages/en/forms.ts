/** Texts of the parts that forms share. */
export const forms = {
  unsaved: {
    title: 'Leave without saving?',
    text: 'What you changed on this page is not saved.',
    stay: 'Stay',
    leave: 'Leave without saving',
  },
  confirm: {
    cancel: 'Not now',
    busy: 'Working…',
    type: (count: string) => `Type ${count} to confirm`,
  },
  audit: {
    title: 'Audit log',
    record: 'Details',
    none: 'No change is recorded',
    needsOfficer: 'The audit log is for compliance officers and administrators.',
    when: 'Time',
    who: 'Who',
    internal: 'the service',
    action: 'Action',
    changes: 'From → to',
  },
  playerChoice: {
    hint: 'Email, phone, external id, device id, Telegram id or player id',
    none: 'No player matches',
    other: 'Choose another',
  },
  code: {
    line: (line: number, column: number | null) =>
      column === null ? `Line ${line}` : `Line ${line}, column ${column}`,
  },
  form: {
    save: 'Save',
    money: (label: string, code: string) => (code === '' ? label : `${label} (${code})`),
    viewer: (role: string) => `Your role is ${role}: you can look at everything here, and change nothing.`,
    conflict: 'Somebody else has saved this since you began. What you typed is not saved yet.',
    field: 'Field',
    mine: 'Yours',
    theirs: 'Saved by somebody else',
    keepMine: 'Save mine over it',
    takeTheirs: 'Discard mine',
  },
};
