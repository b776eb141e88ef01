-- ClickHouse read nothing of an event with an integer beyond 64 bits. Such an integer gets the exponent 0, as new events
-- have it: first those that follow a key, then, where the text still cannot be read, elements of lists. A number between
-- two others has no separator of its own, so lists take two passes.
alter table events update properties = replaceRegexpAll(properties, '([^\\\\]":)(-?[0-9]{19,})([,}])', '\\1\\2e+00\\3')
where properties != '' and not isValidJSON(properties);
alter table events update properties = replaceRegexpAll(replaceRegexpAll(properties,
  '([[,])(-?[0-9]{19,})([],])', '\\1\\2E+00\\3'), '([[,])(-?[0-9]{19,})([],])', '\\1\\2E+00\\3')
where properties != '' and not isValidJSON(properties);
alter table events_by_player update properties = replaceRegexpAll(properties, '([^\\\\]":)(-?[0-9]{19,})([,}])', '\\1\\2e+00\\3')
where properties != '' and not isValidJSON(properties);
alter table events_by_player update properties = replaceRegexpAll(replaceRegexpAll(properties,
  '([[,])(-?[0-9]{19,})([],])', '\\1\\2E+00\\3'), '([[,])(-?[0-9]{19,})([],])', '\\1\\2E+00\\3')
where properties != '' and not isValidJSON(properties);
