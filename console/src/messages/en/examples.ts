/** Ready examples of empty lists, by their keys. */
export const examples = {
  title: 'Begin with an example',
  use: 'Use it',
  useOf: (title: string) => `Use it: the example “${title}”`,
  segments: {
    new: {
      title: 'Registered, no deposit',
      text: 'Registered within 3 days, and has not deposited yet.',
    },
    lapsed: { title: 'Lapsed depositors', text: 'At least 3 deposits ever, and none in the last 30 days.' },
    high: { title: 'High depositors', text: 'Deposited 500 or more of the base currency within 30 days.' },
  },
  templates: {
    welcome: {
      title: 'Welcome',
      text: 'An email for new players, with the name and a link to unsubscribe.',
      subject: 'Welcome, {{ first_name | default: "player" }}',
      body: '<p>Hello {{ first_name | default: "player" }},</p>\n<p>welcome. Your account is ready.</p>\n<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>\n',
    },
    miss: {
      title: 'We have not seen you',
      text: 'An email for players who have not come for some time.',
      subject: 'It has been a while',
      body: '<p>Hello {{ first_name | default: "player" }},</p>\n<p>there is something new since your last visit.</p>\n<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>\n',
    },
    reminder: {
      title: 'Short reminder',
      text: 'A text message of one line.',
      body: 'Hello {{ first_name | default: "player" }}, your bonus waits until tonight.',
    },
  },
  campaigns: {
    winBack: { title: 'Win back', text: 'An email once to a segment; the goal is a deposit within 7 days.' },
    thanks: { title: 'Thank for a deposit', text: 'An email to each player who deposits, at once.' },
    push: { title: 'Push before the weekend', text: 'A push message once to a segment; the goal is a bet.' },
  },
  journeys: {
    second: {
      title: 'Second deposit',
      text: 'Two days after the first deposit it waits three days for another one. Add the message where the time is up.',
    },
    welcome: {
      title: 'Welcome',
      text: 'After the registration it waits a day, then three days for the first deposit.',
    },
    failed: {
      title: 'Failed deposit',
      text: 'After a deposit that failed it waits an hour for one that succeeds.',
    },
  },
};
