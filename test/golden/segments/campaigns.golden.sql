-- What the examples compile to. Made by a test: UPDATE_GOLDEN=1 writes it anew.

-- Deposited over 500 in the last 30 days, at least 3 bets on slots this week, not VIP gold, never claimed the welcome bonus
select p.player_id as player_id
from (
  select player_id, current_tier_code from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, sumIf(toInt128(ifNull(base_amount, 0)), event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p4:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC') and JSONExtractString(properties, {p5:String}) = {p6:String}) as a1, countIf(event = {p9:String} and JSONExtractString(properties, {p10:String}) = {p11:String}) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p4:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p9:String}))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 > {p2:Int64}) and (e.a1 >= {p7:Int64}) and (not (ifNull(p.current_tier_code = {p8:String}, 0))) and (e.a2 = {p12:Int64}))
-- p0 = "deposit_confirmed"
-- p1 = 2592000000
-- p2 = 50000
-- p3 = "bet_placed"
-- p4 = 604800000
-- p5 = "game_category"
-- p6 = "slots"
-- p7 = 3
-- p8 = "gold"
-- p9 = "bonus_claimed"
-- p10 = "bonus_code"
-- p11 = "welcome"
-- p12 = 0

-- Registered in the last 3 days and has not deposited yet
select p.player_id as player_id
from (
  select player_id, created_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p2:String}
  group by owner
) as e on e.owner = p.player_id
where ((p.created_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p0:Int64}, 'UTC') and p.created_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) and (e.a0 = {p1:Int64}))
-- p0 = 259200000
-- p1 = 0
-- p2 = "deposit_confirmed"

-- Made the first deposit this week, and no second one
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, minOrNull(occurred_at) as a0, count() as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p2:String}
  group by owner
) as e on e.owner = p.player_id
where ((ifNull(e.a0 > fromUnixTimestamp64Milli({now_ms:Int64} - {p0:Int64}, 'UTC') and e.a0 <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0)) and (e.a1 = {p1:Int64}))
-- p0 = 604800000
-- p1 = 1
-- p2 = "deposit_confirmed"

-- Lapsed depositors: at least 3 deposits ever, none in the last 30 days
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0, maxOrNull(occurred_at) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p2:String}
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p0:Int64}) and (not (ifNull(e.a1 > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and e.a1 <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0))))
-- p0 = 3
-- p1 = 2592000000
-- p2 = "deposit_confirmed"

-- High rollers: a deposit of 5,000 or more, or 20,000 wagered, and active
select p.player_id as player_id
from (
  select player_id, total_wagered, status from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, maxOrNull(base_amount) as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p3:String}
  group by owner
) as e on e.owner = p.player_id
where (((ifNull(e.a0 >= {p0:Int64}, 0)) or (p.total_wagered >= {p1:Int64})) and (p.status = {p2:String}))
-- p0 = 500000
-- p1 = 2000000
-- p2 = "active"
-- p3 = "deposit_confirmed"

-- Bonus hunters: 3 bonuses in 30 days and very small deposits
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, sumIf(toInt128(ifNull(base_amount, 0)), event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p2:Int64}) and (e.a1 < {p4:Int64}))
-- p0 = "bonus_claimed"
-- p1 = 2592000000
-- p2 = 3
-- p3 = "deposit_confirmed"
-- p4 = 5000

-- A deposit failed in the last 2 days, and no failure was followed by a success within 24 hours
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p2:Int64}) and (not (notEmpty(arrayMap((times, reached) -> arrayMap(merged -> arrayMap(m -> m.1, arrayFilter((m, i) -> m.2 = 0 and i > 0 and m.1 - reached[i] <= {p4:Int64}, merged, arrayCumSum(m -> m.2, merged))), [arraySort(arrayConcat(arrayMap(t -> (t, 0), times), arrayMap(t -> (t, 1), reached)))])[1], [e.a2], [arraySort(e.a1)])[1]))))
-- p0 = "deposit_failed"
-- p1 = 172800000
-- p2 = 1
-- p3 = "deposit_confirmed"
-- p4 = 86400000

-- KYC pending with deposits over 2,000
select p.player_id as player_id
from (
  select player_id, kyc_status, total_deposited from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((p.kyc_status = {p0:String}) and (p.total_deposited > {p1:Int64}))
-- p0 = "pending"
-- p1 = 200000

-- Withdrew more than they deposited this month
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, sumIf(toInt128(ifNull(base_amount, 0)), event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, sumIf(toInt128(ifNull(base_amount, 0)), event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p2:Int64}) and (e.a1 < {p2:Int64}))
-- p0 = "withdrawal_confirmed"
-- p1 = 2592000000
-- p2 = 100000
-- p3 = "deposit_confirmed"

-- Asked for a withdrawal yesterday or today and then bet again (reverse withdrawal risk)
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p2:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p2:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where (notEmpty(arrayMap((times, reached) -> arrayMap(merged -> arrayMap(m -> m.1, arrayFilter((m, i) -> m.2 = 0 and i > 0 and m.1 - reached[i] <= {p3:Int64}, merged, arrayCumSum(m -> m.2, merged))), [arraySort(arrayConcat(arrayMap(t -> (t, 0), times), arrayMap(t -> (t, 1), reached)))])[1], [e.a1], [arraySort(e.a0)])[1]))
-- p0 = "withdrawal_requested"
-- p1 = 172800000
-- p2 = "bet_placed"
-- p3 = 43200000

-- Crypto depositors who have not tried the live casino
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and JSONExtractString(properties, {p1:String}) in {p2:Array(String)}) as a0, countIf(event = {p4:String} and JSONExtractString(properties, {p5:String}) = {p6:String}) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String}) or (event = {p4:String}))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p3:Int64}) and (e.a1 = {p7:Int64}))
-- p0 = "deposit_confirmed"
-- p1 = "payment_method"
-- p2 = ["btc","usdt","eth"]
-- p3 = 1
-- p4 = "bet_placed"
-- p5 = "game_category"
-- p6 = "live"
-- p7 = 0

-- Average deposit between 20 and 50, at least 5 deposits in 90 days (candidates for a reload offer)
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0, sum(toInt128(ifNull(base_amount, 0))) as a1, countIf(base_amount is not null) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p4:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p0:Int64}) and (ifNull(if(e.a2 = 0, null, toDecimal256(e.a1, 0)) >= {p1:Decimal(76, 18)} * e.a2 and if(e.a2 = 0, null, toDecimal256(e.a1, 0)) <= {p2:Decimal(76, 18)} * e.a2, 0)))
-- p0 = 5
-- p1 = "2000.000000000000000000"
-- p2 = "5000.000000000000000000"
-- p3 = "deposit_confirmed"
-- p4 = 7776000000

-- Deposited during the Easter campaign, and not since
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at >= fromUnixTimestamp64Milli({p1:Int64}, 'UTC') and occurred_at < fromUnixTimestamp64Milli({p2:Int64}, 'UTC')) as a0, maxOrNullIf(occurred_at, event = {p0:String}) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p0:String}
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p3:Int64}) and (ifNull(e.a1 < fromUnixTimestamp64Milli({p2:Int64}, 'UTC'), 0)))
-- p0 = "deposit_confirmed"
-- p1 = 1775167200000
-- p2 = 1775512800000
-- p3 = 1

-- Logged in three times today without a deposit
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1, countIf(event = {p5:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p5:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p2:Int64}) and (e.a1 = {p4:Int64}) and (e.a2 = {p4:Int64}))
-- p0 = "login"
-- p1 = 86400000
-- p2 = 3
-- p3 = "deposit_initiated"
-- p4 = 0
-- p5 = "deposit_confirmed"

-- Deposits in Swedish kronor, no verified phone, so no SMS offers
select p.player_id as player_id
from (
  select player_id, default_currency_code, phone, custom_attributes, total_deposited from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((p.default_currency_code = {p0:String}) and ((not (p.phone is not null)) or (not ((JSONType(p.custom_attributes, {p1:String}) = 'Bool' and JSONExtractBool(p.custom_attributes, {p1:String}) = true)))) and (p.total_deposited > {p2:Int64}))
-- p0 = "SEK"
-- p1 = "phone_verified"
-- p2 = 0

-- Sports only: bets on sport in the last 30 days, never in the casino
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p3:String}) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String}))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p2:Int64}) and (e.a1 = {p4:Int64}))
-- p0 = "sport_bet_placed"
-- p1 = 2592000000
-- p2 = 1
-- p3 = "bet_placed"
-- p4 = 0

-- Casino players who have not tried sport
select p.player_id as player_id
from (
  select player_id, bet_count from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p2:String}
  group by owner
) as e on e.owner = p.player_id
where ((p.bet_count >= {p0:Int64}) and (e.a0 = {p1:Int64}))
-- p0 = 20
-- p1 = 0
-- p2 = "sport_bet_placed"

-- A recent big win: a payout of 1,000 or more in the last 48 hours
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, maxOrNullIf(base_payout, event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC') and ifNull(base_payout >= {p2:Int64}, 0)) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where ((ifNull(e.a0 >= {p2:Int64}, 0)) or (e.a1 >= {p4:Int64}))
-- p0 = "bet_won"
-- p1 = 172800000
-- p2 = 100000
-- p3 = "bet_settled"
-- p4 = 1

-- A big win, and then no bet for a day
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC') and ifNull(base_payout > {p2:Int64}, 0)) as a0, maxOrNullIf(occurred_at, event = {p4:String}) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p4:String}))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p3:Int64}) and (not (ifNull(e.a1 > fromUnixTimestamp64Milli({now_ms:Int64} - {p5:Int64}, 'UTC') and e.a1 <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0))))
-- p0 = "bet_won"
-- p1 = 604800000
-- p2 = 50000
-- p3 = 1
-- p4 = "bet_placed"
-- p5 = 86400000

-- Churn risk: a score of 0.7 or more, seen in the last 14 days, with a high predicted value
select p.player_id as player_id
from (
  select player_id, churn_score, last_seen_at, ltv_predicted from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((p.churn_score >= {p0:Float64}) and (p.last_seen_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and p.last_seen_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) and (ifNull(p.ltv_predicted > {p2:Float64}, 0)))
-- p0 = 0.7
-- p1 = 1209600000
-- p2 = 500

-- Slowing down: 10 bets or more in April, none in May
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at >= fromUnixTimestamp64Milli({p1:Int64}, 'UTC') and occurred_at < fromUnixTimestamp64Milli({p2:Int64}, 'UTC')) as a0, countIf(event = {p0:String} and occurred_at >= fromUnixTimestamp64Milli({p2:Int64}, 'UTC') and occurred_at < fromUnixTimestamp64Milli({p4:Int64}, 'UTC')) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p0:String} and occurred_at >= fromUnixTimestamp64Milli({p1:Int64}, 'UTC') and occurred_at < fromUnixTimestamp64Milli({p4:Int64}, 'UTC')
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p3:Int64}) and (e.a1 = {p5:Int64}))
-- p0 = "bet_placed"
-- p1 = 1775001600000
-- p2 = 1777593600000
-- p3 = 10
-- p4 = 1780272000000
-- p5 = 0

-- Reached a deposit, loss or session limit in the last 7 days (no offers)
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1, countIf(event = {p4:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p4:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p2:Int64}) or (e.a1 >= {p2:Int64}) or (e.a2 >= {p2:Int64}))
-- p0 = "deposit_limit_reached"
-- p1 = 604800000
-- p2 = 1
-- p3 = "loss_limit_reached"
-- p4 = "session_limit_exceeded"

-- Self-excluded or cooling down, and everyone who lifted an exclusion this month
select p.player_id as player_id
from (
  select player_id, status from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p1:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p2:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p4:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p5:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p1:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p2:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p4:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p5:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where ((p.status = {p0:String}) or (e.a0 >= {p3:Int64}) or (e.a1 >= {p3:Int64}))
-- p0 = "self_excluded"
-- p1 = "cooldown_entered"
-- p2 = 86400000
-- p3 = 1
-- p4 = "self_exclusion_lifted"
-- p5 = 2592000000

-- Lost more than 1,000 in total and made five deposits within a day
select p.player_id as player_id
from (
  select player_id, ggr from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p2:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p3:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')
  group by owner
) as e on e.owner = p.player_id
where ((p.ggr > {p0:Int64}) and (e.a0 >= {p1:Int64}))
-- p0 = 100000
-- p1 = 5
-- p2 = "deposit_confirmed"
-- p3 = 86400000

-- VIPs of any tier who were not seen for a week, without those who have a host
select p.player_id as player_id
from (
  select player_id, current_tier_code, last_seen_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((ifNull(p.current_tier_code in {p0:Array(String)}, 0)) and (not (p.last_seen_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and p.last_seen_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'))) and (p.player_id not in (select player_id from segment_members final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and segment_id = {p2:UUID})))
-- p0 = ["silver","gold","platinum"]
-- p1 = 604800000
-- p2 = "01980000-0000-7000-8000-0000000000bb"

-- Promoted to gold in the last 3 days: congratulate
select p.player_id as player_id
from (
  select player_id, current_tier_code, tier_promoted_at from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
where ((ifNull(p.current_tier_code = {p0:String}, 0)) and (ifNull(p.tier_promoted_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and p.tier_promoted_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC'), 0)))
-- p0 = "gold"
-- p1 = 259200000

-- Played at least 4 different slots this month, never the new one
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, uniqExactIf(if(JSONType(properties, {p0:String}) = 'Null', null, if(JSONType(properties, {p0:String}) = 'Double' and abs(JSONExtractFloat(properties, {p0:String})) > 9007199254740991, coalesce(nullIf(extract(properties, {p1:String}), ''), JSONExtractRaw(properties, {p0:String})), JSONExtractRaw(properties, {p0:String}))), event = {p2:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p3:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC') and JSONExtractString(properties, {p4:String}) = {p5:String}) as a0, countIf(event = {p2:String} and JSONExtractString(properties, {p0:String}) = {p7:String}) as a1
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p2:String}
  group by owner
) as e on e.owner = p.player_id
where ((e.a0 >= {p6:Int64}) and (e.a1 = {p8:Int64}))
-- p0 = "game_id"
-- p1 = "[{,]\"game_id\":(-?[0-9]+)e[+]00"
-- p2 = "bet_placed"
-- p3 = 2592000000
-- p4 = "game_category"
-- p5 = "slots"
-- p6 = 4
-- p7 = "moon-diver"
-- p8 = 0

-- Opened an email offer in the last 30 days, clicked none, and has an email address
select p.player_id as player_id
from (
  select player_id, email from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, countIf(event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, countIf(event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1, countIf(event = {p5:String}) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p3:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p5:String}))
  group by owner
) as e on e.owner = p.player_id
where ((p.email is not null) and (e.a0 >= {p2:Int64}) and (e.a1 = {p4:Int64}) and (not (e.a2 >= {p2:Int64})))
-- p0 = "email_opened"
-- p1 = 2592000000
-- p2 = 1
-- p3 = "email_clicked"
-- p4 = 0
-- p5 = "email_bounced"

-- Claimed a bonus in the last 14 days and let it expire without wagering
select p.player_id as player_id
from (
  select player_id from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a0, groupArrayIf(toUnixTimestamp64Milli(occurred_at), event = {p2:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a1, countIf(event = {p4:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) as a2
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and ((event = {p0:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p2:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')) or (event = {p4:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p1:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC')))
  group by owner
) as e on e.owner = p.player_id
where ((notEmpty(arrayMap((times, reached) -> arrayMap(merged -> arrayMap(m -> m.1, arrayFilter((m, i) -> m.2 = 0 and i > 0 and m.1 - reached[i] <= {p3:Int64}, merged, arrayCumSum(m -> m.2, merged))), [arraySort(arrayConcat(arrayMap(t -> (t, 0), times), arrayMap(t -> (t, 1), reached)))])[1], [e.a1], [arraySort(e.a0)])[1])) and (e.a2 = {p5:Int64}))
-- p0 = "bonus_claimed"
-- p1 = 1209600000
-- p2 = "bonus_expired"
-- p3 = 864000000
-- p4 = "bonus_wagered"
-- p5 = 0

-- A fifth of the active slots players of this week, for the test of the new reload offer
select p.player_id as player_id
from (
  select player_id, status from players final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and deleted_at is null
) as p
any left join (
  select if((select count() from player_aliases final where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID}) = 0, player_id, dictGetOrDefault('player_alias', 'into_player_id', (tenant_id, project_id, player_id), player_id)) as owner, count() as a0
  from events final
  where tenant_id = {tenant_id:UUID} and project_id = {project_id:UUID} and event = {p4:String} and occurred_at > fromUnixTimestamp64Milli({now_ms:Int64} - {p5:Int64}, 'UTC') and occurred_at <= fromUnixTimestamp64Milli({now_ms:Int64}, 'UTC') and JSONExtractString(properties, {p6:String}) = {p7:String}
  group by owner
) as e on e.owner = p.player_id
where ((halfMD5(concat({p0:String}, ':', toString(p.player_id))) % 1000000 < {p1:UInt32}) and (e.a0 >= {p2:Int64}) and (p.status = {p3:String}))
-- p0 = "may-reload"
-- p1 = 200000
-- p2 = 1
-- p3 = "active"
-- p4 = "bet_placed"
-- p5 = 604800000
-- p6 = "game_category"
-- p7 = "slots"
