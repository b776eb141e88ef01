-- The migration before marked healed integers by what surrounds them: deep ones as if they were of the object itself, so that
-- a condition on a key of the object could read the digits of a deeper one; those within 64 bits, too; and digits between
-- commas inside of texts. A key that ends with a backslash was passed over. Here the text is taken apart, so that each number
-- is written as new events have it: beyond 64 bits with the mark e+00 in the object itself, E+00 in a deeper object or list.
alter table events update properties = arrayStringConcat(arrayMap(
  (part, depth) -> multiIf(
    part like '"%', replaceRegexpAll(replaceRegexpAll(part, '([[,]-?[0-9]{19,})E[+]00([],])', '\\1\\2'),
      '([[,]-?[0-9]{19,})E[+]00([],])', '\\1\\2'),
    not match(part, '^-?[0-9]{19,}([eE][+]00)?$'), part,
    ifNull(toInt256OrNull(substring(extract(part, '^-?[0-9]+'), 1, 60)) between toInt256('-9223372036854775808')
      and toInt256('18446744073709551615'), 0), extract(part, '^-?[0-9]+'),
    concat(extract(part, '^-?[0-9]+'), if(depth = 1, 'e+00', 'E+00'))),
  extractAll(properties, '"(?:[^"\\\\]|\\\\.)*"|[{}\\[\\]]|[^"{}\\[\\],:]+|[,:]+'),
  arrayCumSum(part -> multiIf(part in ('{', '['), 1, part in ('}', ']'), -1, 0),
    extractAll(properties, '"(?:[^"\\\\]|\\\\.)*"|[{}\\[\\]]|[^"{}\\[\\],:]+|[,:]+'))))
where properties != '' and (match(properties, '[0-9]{19}[eE][+]00') or not isValidJSON(properties));
alter table events_by_player update properties = arrayStringConcat(arrayMap(
  (part, depth) -> multiIf(
    part like '"%', replaceRegexpAll(replaceRegexpAll(part, '([[,]-?[0-9]{19,})E[+]00([],])', '\\1\\2'),
      '([[,]-?[0-9]{19,})E[+]00([],])', '\\1\\2'),
    not match(part, '^-?[0-9]{19,}([eE][+]00)?$'), part,
    ifNull(toInt256OrNull(substring(extract(part, '^-?[0-9]+'), 1, 60)) between toInt256('-9223372036854775808')
      and toInt256('18446744073709551615'), 0), extract(part, '^-?[0-9]+'),
    concat(extract(part, '^-?[0-9]+'), if(depth = 1, 'e+00', 'E+00'))),
  extractAll(properties, '"(?:[^"\\\\]|\\\\.)*"|[{}\\[\\]]|[^"{}\\[\\],:]+|[,:]+'),
  arrayCumSum(part -> multiIf(part in ('{', '['), 1, part in ('}', ']'), -1, 0),
    extractAll(properties, '"(?:[^"\\\\]|\\\\.)*"|[{}\\[\\]]|[^"{}\\[\\],:]+|[,:]+'))))
where properties != '' and (match(properties, '[0-9]{19}[eE][+]00') or not isValidJSON(properties));
