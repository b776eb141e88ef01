-- Which calls are due is found by bonus_grants_next and bonus_grants_to_call. Grants that wait for a share of their campaign's
-- rate are found by bonus_grants_unsent_of_campaign.
drop index bonus_grants_due;
